import { allLayouts } from '../catalogue';
import type { DialectName } from '../dialects';
import type { FailoverDrill } from '../drill';
import { expectOnce, NO_WAIT_MS } from '../expectation';
import type { Scene } from '../scene';
import type { SupplierFault } from '../supplier';

const layoutsNamed = (way: string, lanes: number): ReturnType<typeof allLayouts> =>
  Object.fromEntries(Object.entries(allLayouts(lanes)).map(([name, layout]) => [`${name}, ${way}`, layout]));

/** The dialect's envelope without content. */
const emptyBodies: Readonly<Record<DialectName, object>> = {
  chat: { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'other', choices: [] },
  messages: { id: 'msg_1', type: 'message', role: 'assistant', model: 'other' },
  responses: { id: 'resp_1', object: 'response', created_at: 1, model: 'other', status: 'completed' },
};

/** Success status with an empty body, an unrelated object, or a response envelope without content. */
function invalidBodyFaults({
  layout: { dialect, stream },
}: Scene): readonly (readonly [string, SupplierFault])[] {
  const headers = { 'content-type': stream ? 'text/event-stream' : 'application/json' };
  const bodyFault = (value: object): SupplierFault => {
    const text = JSON.stringify(value);
    return { kind: 'status', status: 200, headers, body: stream ? `data: ${text}\n\n` : text };
  };
  return [
    ['nothing', { kind: 'empty-body' }],
    ['another kind of object', bodyFault({ hello: 'world' })],
    ['an envelope without an answer', bodyFault(emptyBodies[dialect])],
  ];
}

/**
 * An invalid response goes to the next lane. Without another lane the caller gets an error and no part of the response.
 */
export const noAnswers: FailoverDrill = {
  name: '22 empty and wrong-shaped answers',
  scenes: { ...layoutsNamed('with a backup', 2), ...layoutsNamed('alone', 1) },
  run: (context) =>
    context.inScenes(/./, async (scene, report) => {
      const isSoleLane = scene.supplierIds.length === 1;
      for (const [index, [what, fault]] of invalidBodyFaults(scene).entries()) {
        const removeFault = await scene.fault('a', fault);
        const attemptNumber = index + 1;
        await expectOnce(
          report,
          what,
          scene,
          isSoleLane
            ? { ending: 'refused', status: [502, 503], withinMs: NO_WAIT_MS, calls: { a: attemptNumber } }
            : {
                ending: 'whole',
                by: 'b',
                failover: true,
                withinMs: NO_WAIT_MS,
                calls: { a: attemptNumber, b: attemptNumber },
              },
        );
        await removeFault();
      }
    }),
};
