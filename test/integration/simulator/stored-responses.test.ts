import { startSimulator, type Simulator } from '../../support/simulator';
import { call, jsonOf, openaiHeaders, responsesTools, type Seen } from './client';

interface OpenaiError {
  error: { message: string; code: string | null };
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

describe('responses, stored ones', () => {
  interface Stored {
    readonly id: string;
    readonly output: readonly { readonly id: string; readonly type: string; readonly call_id?: string }[];
  }
  const send = (more: object): Promise<Seen> =>
    call(`${simulator.url}/v1/responses`, { model: 'sim-reason', tools: responsesTools, ...more });
  const asks = { role: 'user', content: 'Weather? [[tool=get_weather({"city":"Graz"})]]' };
  const ask = async (more: object = {}): Promise<Stored> =>
    jsonOf<Stored>(await send({ input: [asks], ...more }));
  const reference = (id: string): object => ({ type: 'item_reference', id });
  const refused = async (more: object): Promise<[number, string | null, string]> => {
    const seen = await send(more);
    const { error } = jsonOf<OpenaiError>(seen);
    return [seen.status, error.code, error.message];
  };

  test('can be gone on from and referred to', async () => {
    const { id, output } = await ask();
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);
    const result = { type: 'function_call_output', call_id: output[1]!.call_id, output: 'sunny in Graz' };
    const references = output.map((item) => reference(item.id));
    for (const more of [
      { previous_response_id: id, input: [result] },
      { input: [asks, ...references, result] },
      { input: [asks, ...output, result] },
      { input: [asks, { id: output[0]!.id }, output[1], result] },
    ]) {
      const seen = await send(more);
      expect(seen.bytes.toString()).toContain('sunny in Graz');
    }
  });

  test('are unknown to others, and when they were not stored', async () => {
    const { id, output } = await ask({
      store: false,
      input: [{ ...asks, content: `Not stored. ${asks.content}` }],
    });
    expect(await refused({ previous_response_id: id, input: 'x' })).toEqual([
      400,
      'previous_response_not_found',
      `Previous response with id '${id}' not found.`,
    ]);
    expect(await refused({ input: [asks, reference(output[0]!.id)], store: false })).toEqual([
      404,
      null,
      expect.stringMatching(/^Item with id 'rs_.*' not found. Items are not persisted/),
    ]);
    const [reasoning] = output;
    expect(await refused({ input: [asks, reasoning, { role: 'assistant', content: 'x' }] })).toEqual([
      404,
      null,
      expect.stringContaining('not found.'),
    ]);
    const stored = await ask();
    const seen = await call(
      `${simulator.url}/v1/responses`,
      { model: 'sim-reason', input: 'x', previous_response_id: stored.id },
      { headers: { ...openaiHeaders, authorization: 'Bearer sim-somebody-else' } },
    );
    expect(seen.status).toBe(400);
  });

  test('do not part what belongs together', async () => {
    const { id, output } = await ask();
    const [reasoning, made] = output;
    const result = { type: 'function_call_output', call_id: made!.call_id, output: 'x' };
    expect(await refused({ input: [asks, reference(reasoning!.id)] })).toEqual([
      400,
      null,
      expect.stringContaining("of type 'reasoning' was provided without its required following item."),
    ]);
    expect(await refused({ input: [asks, reference(made!.id), result] })).toEqual([
      400,
      null,
      expect.stringContaining("was provided without its required 'reasoning' item: 'rs_"),
    ]);
    expect(await refused({ previous_response_id: id, input: 'Never mind' })).toEqual([
      400,
      'invalid_value',
      expect.stringContaining('No tool output found for function call'),
    ]);
    expect(await refused({ input: [{ ...asks, type: 'message', id: 'item_1' }] })).toEqual([
      400,
      'invalid_value',
      "Invalid 'input[0].id': 'item_1'. Expected an ID that begins with 'msg'.",
    ]);
  });
});
