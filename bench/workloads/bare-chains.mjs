// @ts-check
export default { name: 'bare-chains', title: 'bare', metrics: {}, opensItself: true, size: { full: 1000, quick: 300 }, async run() { return {} } }
