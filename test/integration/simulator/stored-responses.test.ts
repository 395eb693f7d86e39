import { startSimulator, type Simulator } from '../../support/simulator';
import { call, jsonOf, openaiHeaders, responsesTools, type RawResponse } from './client';

interface StoredResponseError {
  error: { message: string; code: string | null };
}

let simulator: Simulator;
beforeAll(async () => void (simulator = await startSimulator()));
afterAll(() => simulator.stop());

describe('Stored responses', () => {
  interface StoredResult {
    readonly id: string;
    readonly output: readonly { readonly id: string; readonly type: string; readonly call_id?: string }[];
  }
  const send = (more: object): Promise<RawResponse> =>
    call(`${simulator.url}/v1/responses`, { model: 'sim-reason', tools: responsesTools, ...more });
  const userMessage = { role: 'user', content: 'Weather? [[tool=get_weather({"city":"Graz"})]]' };
  const createResponse = async (more: object = {}): Promise<StoredResult> =>
    jsonOf<StoredResult>(await send({ input: [userMessage], ...more }));
  const reference = (id: string): object => ({ type: 'item_reference', id });
  const sendInvalid = async (more: object): Promise<[number, string | null, string]> => {
    const response = await send(more);
    const { error } = jsonOf<StoredResponseError>(response);
    return [response.status, error.code, error.message];
  };

  test('can be continued and referenced', async () => {
    const { id, output } = await createResponse();
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'function_call']);
    const result = { type: 'function_call_output', call_id: output[1]!.call_id, output: 'sunny in Graz' };
    const references = output.map((item) => reference(item.id));
    for (const more of [
      { previous_response_id: id, input: [result] },
      { input: [userMessage, ...references, result] },
      { input: [userMessage, ...output, result] },
      { input: [userMessage, { id: output[0]!.id }, output[1], result] },
    ]) {
      const response = await send(more);
      expect(response.bytes.toString()).toContain('sunny in Graz');
    }
  });

  test('are not found by another account or when they were not stored', async () => {
    const { id, output } = await createResponse({
      store: false,
      input: [{ ...userMessage, content: `Not stored. ${userMessage.content}` }],
    });
    expect(await sendInvalid({ previous_response_id: id, input: 'x' })).toEqual([
      400,
      'previous_response_not_found',
      `Previous response with id '${id}' not found.`,
    ]);
    expect(await sendInvalid({ input: [userMessage, reference(output[0]!.id)], store: false })).toEqual([
      404,
      null,
      expect.stringMatching(/^Item with id 'rs_.*' not found. Items are not persisted/),
    ]);
    const [reasoning] = output;
    expect(
      await sendInvalid({ input: [userMessage, reasoning, { role: 'assistant', content: 'x' }] }),
    ).toEqual([404, null, expect.stringContaining('not found.')]);
    const storedResponse = await createResponse();
    const response = await call(
      `${simulator.url}/v1/responses`,
      { model: 'sim-reason', input: 'x', previous_response_id: storedResponse.id },
      { headers: { ...openaiHeaders, authorization: 'Bearer sim-somebody-else' } },
    );
    expect(response.status).toBe(400);
  });

  test('keep reasoning, calls and their outputs together', async () => {
    const { id, output } = await createResponse();
    const [reasoning, made] = output;
    const result = { type: 'function_call_output', call_id: made!.call_id, output: 'x' };
    expect(await sendInvalid({ input: [userMessage, reference(reasoning!.id)] })).toEqual([
      400,
      null,
      expect.stringContaining("of type 'reasoning' was provided without its required following item."),
    ]);
    expect(await sendInvalid({ input: [userMessage, reference(made!.id), result] })).toEqual([
      400,
      null,
      expect.stringContaining("was provided without its required 'reasoning' item: 'rs_"),
    ]);
    expect(await sendInvalid({ previous_response_id: id, input: 'Never mind' })).toEqual([
      400,
      'invalid_value',
      expect.stringContaining('No tool output found for function call'),
    ]);
    expect(await sendInvalid({ input: [{ ...userMessage, type: 'message', id: 'item_1' }] })).toEqual([
      400,
      'invalid_value',
      "Invalid 'input[0].id': 'item_1'. Expected an ID that begins with 'msg'.",
    ]);
  });
});
