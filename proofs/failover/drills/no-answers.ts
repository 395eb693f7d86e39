import { everyWay } from '../catalogue';
import type { DialectName } from '../dialects';
import type { Drill } from '../drill';
import { expectOnce, SOON_MS } from '../expectation';
import type { Scene } from '../scene';
import type { SupplierFault } from '../supplier';

const named = (way: string, lanes: number): ReturnType<typeof everyWay> =>
  Object.fromEntries(Object.entries(everyWay(lanes)).map(([name, layout]) => [`${name}, ${way}`, layout]));

/** The dialect's own envelope, and nothing in it. */
const emptyBodies: Readonly<Record<DialectName, object>> = {
  chat: { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'other', choices: [] },
  messages: { id: 'msg_1', type: 'message', role: 'assistant', model: 'other' },
  responses: { id: 'resp_1', object: 'response', created_at: 1, model: 'other', status: 'completed' },
};

/** Under a status of success: no body, an object of another kind, or the envelope of an answer without one. */
function faultsOf({ layout: { asked, stream } }: Scene): readonly (readonly [string, SupplierFault])[] {
  const headers = { 'content-type': stream ? 'text/event-stream' : 'application/json' };
  const said = (value: object): SupplierFault => {
    const text = JSON.stringify(value);
    return { kind: 'status', status: 200, headers, body: stream ? `data: ${text}\n\n` : text };
  };
  return [
    ['nothing', { kind: 'empty-body' }],
    ['another kind of object', said({ hello: 'world' })],
    ['an envelope without an answer', said(emptyBodies[asked])],
  ];
}

/** An invalid answer goes to the next lane. Without another lane the caller gets an error, and no part of the answer. */
export const noAnswers: Drill = {
  name: '22 empty and wrong-shaped answers',
  scenes: { ...named('with a backup', 2), ...named('alone', 1) },
  run: (context) =>
    context.inScenes(/./, async (scene, sheet) => {
      const isAlone = scene.places.length === 1;
      for (const [index, [what, fault]] of faultsOf(scene).entries()) {
        const lift = await scene.fault('a', fault);
        const times = index + 1;
        await expectOnce(
          sheet,
          what,
          scene,
          isAlone
            ? { ending: 'refused', status: [502, 503], withinMs: SOON_MS, calls: { a: times } }
            : { ending: 'whole', by: 'b', failover: true, withinMs: SOON_MS, calls: { a: times, b: times } },
        );
        await lift();
      }
    }),
};
