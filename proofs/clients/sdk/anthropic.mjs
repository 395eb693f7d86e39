import assert from 'node:assert/strict';
import process from 'node:process';
import { asks, check, citySchema, failing, gateway, key, models, refusalOf, weather } from './checks.mjs';

const [version] = process.argv.slice(2);
const { default: Anthropic, AuthenticationError, NotFoundError, APIError } = await import(version);
const { betaTool } = await import(`${version}/helpers/beta/json-schema`);
const options = { baseURL: gateway, maxRetries: 0 };
const client = new Anthropic({ ...options, apiKey: key, authToken: null });

const tools = [{ name: 'weather', description: 'The weather of a city', input_schema: citySchema }];
const say = (content) => [{ role: 'user', content }];
const ask = (model, messages, rest = {}) => ({ model, max_tokens: 500, messages, ...rest });

for (const model of models) {
  for (const stream of [false, true]) {
    const send = (body) =>
      stream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
    const manner = stream ? 'streamed' : 'whole';

    await check(`${model} · ${manner} · parallel tools, results with text, answer, usage`, async () => {
      const question = say(asks.twoToolsMixed);
      const first = await send(ask(model, question, { tools }));
      assert.equal(first.stop_reason, 'tool_use');
      const calls = first.content.filter(({ type }) => type === 'tool_use');
      assert.deepEqual(
        calls.map(({ input }) => input.city),
        ['Graz', 'Ulm'],
      );
      const results = calls.map(({ id, input }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: [{ type: 'text', text: weather(input.city) }],
      }));
      const last = await send(
        ask(model, [...question, { role: 'assistant', content: first.content }, ...say(results)], { tools }),
      );
      assert.match(last.content[0].text, /sunny in Graz.*sunny in Ulm/s);
      assert.equal(last.stop_reason, 'end_turn');
      assert.ok(last.usage.input_tokens > 0 && last.usage.output_tokens > 0);
    });

    await check(`${model} · ${manner} · three turns, words before each call`, async () => {
      const messages = [];
      const turn = async (content) => {
        messages.push(...say(content));
        const answer = await send(ask(model, messages, { tools }));
        messages.push({ role: 'assistant', content: answer.content });
        return answer.content;
      };
      for (const city of ['Graz', 'Ulm']) {
        const [words, call] = await turn(asks.wordsAndTool(city));
        assert.deepEqual([words.type, call.type], ['text', 'tool_use']);
        const result = { type: 'tool_result', tool_use_id: call.id, content: weather(city) };
        assert.match((await turn([result]))[0].text, new RegExp(weather(city)));
      }
      assert.equal((await turn(asks.echo('Goodbye')))[0].text, 'Goodbye');
    });

    await check(`${model} · ${manner} · a tool without arguments`, async () => {
      const clock = [
        { name: 'clock', description: 'The time', input_schema: { type: 'object', properties: {} } },
      ];
      const answer = await send(ask(model, say(asks.emptyTool[model]), { tools: clock }));
      const call = answer.content.find(({ type }) => type === 'tool_use');
      assert.deepEqual([call.name, call.input], ['clock', {}]);
    });

    await check(`${model} · ${manner} · JSON by a schema`, async () => {
      const output_config = { format: { type: 'json_schema', schema: citySchema } };
      const answer = await send(ask(model, say(asks.json), { output_config }));
      const text = answer.content.find(({ type }) => type === 'text').text;
      assert.equal(typeof JSON.parse(text).city, 'string');
    });
  }

  await check(`${model} · the client runs the tools itself`, async () => {
    const cities = [];
    const run = ({ city }) => (cities.push(city), weather(city));
    const tool = betaTool({
      name: 'weather',
      description: 'The weather of a city',
      inputSchema: citySchema,
      run,
    });
    const runner = client.beta.messages.toolRunner(ask(model, say(asks.twoTools), { tools: [tool] }));
    assert.match((await runner).content[0].text, /sunny in Graz.*sunny in Ulm/s);
    assert.deepEqual(cities, ['Graz', 'Ulm']);
  });

  await check(`${model} · an image in a tool's result`, async () => {
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const source = { type: 'base64', media_type: 'image/png', data: pixel };
    const use = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Graz' } };
    const result = {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [
        { type: 'text', text: 'a picture' },
        { type: 'image', source },
      ],
    };
    const answer = await client.messages.create(
      ask(
        model,
        [
          ...say('Look.'),
          { role: 'assistant', content: [use] },
          ...say([result, { type: 'text', text: 'And? [[tokens=5]]' }]),
        ],
        { tools },
      ),
    );
    assert.equal(answer.content[0].text.split(' ').length, 5);
  });

  await check(`${model} · a stream that breaks off is an error`, async () => {
    const error = await refusalOf(async () => {
      const stream = await client.messages.create(
        ask(await failing(model), say(asks.long), { stream: true }),
      );
      const types = [];
      for await (const { type } of stream) types.push(type);
      return types;
    });
    assert.ok(error instanceof APIError, String(error));
    assert.match(error.message, /stream_interrupted/);
    assert.equal(error.type, 'api_error');
  });

  await check(`${model} · tokens are counted beforehand`, async () => {
    const { input_tokens: tokens } = await client.messages.countTokens({ model, messages: say(asks.text) });
    assert.ok(Number.isInteger(tokens) && tokens > 0);
  });
}

await check('a key as apiKey and as authToken', async () => {
  for (const credential of [
    { apiKey: key, authToken: null },
    { apiKey: null, authToken: key },
  ]) {
    const answer = await new Anthropic({ ...options, ...credential }).messages.create(
      ask(models[0], say(asks.text)),
    );
    assert.equal(answer.type, 'message');
  }
});

await check('a wrong key, an unknown model, a missing field: each as its class', async () => {
  const send = (one, body) => refusalOf(() => one.messages.create(body));
  const wrong = new Anthropic({ ...options, apiKey: 'svc_wrong', authToken: null });
  const bad = await send(wrong, ask(models[0], say('x')));
  assert.ok(bad instanceof AuthenticationError, String(bad));
  assert.deepEqual([bad.error.error.code, bad.type], ['invalid_api_key', 'authentication_error']);
  assert.match(bad.requestID, /^[0-9a-f-]{36}$/);
  const unknown = await send(client, ask('no-such-model', say('x')));
  assert.ok(unknown instanceof NotFoundError, String(unknown));
  assert.equal(unknown.error.error.code, 'model_not_found');
  const missing = await send(client, ask(models[0], undefined));
  assert.deepEqual([missing.status, missing.error.error.param], [400, 'messages']);
});

await check('models are listed', async () => {
  const names = [];
  for await (const model of client.models.list({ limit: 2 })) names.push(model.id);
  assert.ok(models.every((name) => names.includes(name)));
});
