/** The neighbour itself: it passes in calm times, and fails when it is kept waiting. */
import { expect, it } from 'vitest'
import { onBothStores } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

onBothStores('a well-behaved neighbour', (stage) => {
  it('is unaffected if nothing misbehaves', async () => {
    const neighbour = await Neighbour.of(await stage.serve())
    await neighbour.calm(4)
    await neighbour.beside(async () => {}, 3)
    await neighbour.expectUnaffected()
  })

  it('detects that the event loop is blocked', async () => {
    const neighbour = await Neighbour.of(await stage.serve(), { slackMs: 200 })
    await neighbour.calm(4)
    await neighbour.beside(async () => {
      await pause(50)
      const until = performance.now() + 2_500
      while (performance.now() < until);
    })
    await expect(neighbour.expectUnaffected()).rejects.toThrow(/beside the misbehaviour/)
  })
})
