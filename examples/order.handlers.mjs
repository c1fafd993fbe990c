// Handlers by type. Each receives the arguments of its step and a context, and returns the result of the step.
export default {
  'order.validate': async ([order]) => {
    if (!(order.amount > 0)) throw new Error(`the amount of ${order.order_id} must be positive`)
    return order
  },

  // Fails once, to show a retry. ctx.key is the same for every attempt: with it the payment provider charges only once.
  'payment.charge': async (_args, ctx) => {
    const order = await ctx.previous()
    if (ctx.attempt === 1) throw new Error('the payment service did not answer')
    return { charge: `ch_${ctx.key.slice(-4)}`, amount: order.amount }
  },

  'email.send': async ([orderId, template]) => ({ sent: template, order: orderId }),

  'order.close': async (_args, ctx) => {
    const results = await ctx.results()
    return { closed: true, charged: results['1'].amount }
  },
}
