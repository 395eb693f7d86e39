import assert from 'node:assert/strict';
import process from 'node:process';
import {
  asks,
  check,
  citySchema,
  failing,
  gateway,
  key,
  models,
  reasoningModels,
  refusalOf,
  responsesModels,
  weather,
} from './checks.mjs';

const [version] = process.argv.slice(2);
const { default: OpenAI, APIError } = await import(version);
const options = { baseURL: `${gateway}/v1`, apiKey: key, maxRetries: 0 };
const client = new OpenAI(options);

const tools = [
  {
    type: 'function',
    function: { name: 'weather', description: 'The weather of a city', parameters: citySchema },
  },
];
const runnable = (asked) => ({
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: citySchema,
    parse: JSON.parse,
    function: ({ city }) => (asked.push(city), weather(city)),
  },
});
const clock = (asked) => ({
  type: 'function',
  function: {
    name: 'clock',
    description: 'The time',
    parameters: { type: 'object', properties: {} },
    parse: JSON.parse,
    function: (input) => (asked.push(input), 'noon'),
  },
});
const say = (content) => [{ role: 'user', content }];
/** Version 6 does not put `output_text` together when it streams. */
const textOf = ({ output }) => output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join('');
const format = { name: 'place', schema: citySchema, strict: true };

const functionTool = { ...tools[0].function, type: 'function', strict: true };
/** Words before each call, two such turns and a third: `turn` takes what is said now and answers what came of it. */
async function threeTurns(turn) {
  for (const city of ['Graz', 'Ulm']) {
    const { words, calls, answer } = await turn(asks.wordsAndTool(city), weather(city));
    assert.ok(words.length > 0, 'no words before the call');
    assert.equal(calls, 1);
    assert.match(answer, new RegExp(weather(city)));
  }
  assert.equal((await turn(asks.echo('Goodbye'))).words, 'Goodbye');
}

for (const model of models) {
  for (const stream of [false, true]) {
    await check(`${model} · chat, ${stream ? 'streamed' : 'whole'} · three turns, words before calls`, () => {
      const messages = [];
      const send = async () => {
        const body = { model, messages, tools };
        const answer = stream
          ? await client.chat.completions.stream(body).finalChatCompletion()
          : await client.chat.completions.create(body);
        messages.push(answer.choices[0].message);
        return answer.choices[0].message;
      };
      return threeTurns(async (content, output) => {
        messages.push(...say(content));
        const { content: words, tool_calls: calls = [] } = await send();
        if (output === undefined) return { words };
        messages.push({ role: 'tool', tool_call_id: calls[0].id, content: output });
        return { words, calls: calls.length, answer: (await send()).content };
      });
    });
  }

  await check(`${model} · chat, whole · tool, result, answer, usage`, async () => {
    const messages = say(asks.oneTool);
    const first = await client.chat.completions.create({ model, messages, tools });
    const { message, finish_reason: finish } = first.choices[0];
    assert.equal(finish, 'tool_calls');
    assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), { city: 'Graz' });
    const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: weather('Graz') };
    const last = await client.chat.completions.create({
      model,
      messages: [...messages, message, result],
      tools,
    });
    assert.match(last.choices[0].message.content, /sunny in Graz/);
    assert.equal(last.choices[0].finish_reason, 'stop');
    assert.ok(last.usage.prompt_tokens > 0 && last.usage.completion_tokens > 0);
    assert.equal(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens);
  });

  await check(`${model} · chat, streamed · parallel tools run by the client, usage`, async () => {
    const cities = [];
    const runner = client.chat.completions.runTools({
      model,
      messages: say(asks.twoTools),
      tools: [runnable(cities)],
      stream: true,
      stream_options: { include_usage: true },
    });
    assert.match(await runner.finalContent(), /sunny in Graz.*sunny in Ulm/s);
    assert.deepEqual(cities, ['Graz', 'Ulm']);
    assert.ok((await runner.totalUsage()).completion_tokens > 0);
  });

  await check(`${model} · chat, streamed · pieces of two tools in turns`, async () => {
    const cities = [];
    const runner = client.chat.completions.runTools({
      model,
      messages: say(asks.twoToolsMixed),
      tools: [runnable(cities)],
      stream: true,
    });
    await runner.finalContent();
    assert.deepEqual(cities, ['Graz', 'Ulm']);
  });

  for (const stream of [false, true]) {
    await check(`${model} · chat, ${stream ? 'streamed' : 'whole'} · a tool without arguments`, async () => {
      const asked = [];
      const runner = client.chat.completions.runTools({
        model,
        messages: say(asks.emptyTool[model]),
        tools: [clock(asked)],
        stream,
      });
      assert.match(await runner.finalContent(), /noon/);
      assert.deepEqual(asked, [{}]);
    });
  }

  await check(`${model} · chat, streamed · JSON by a schema`, async () => {
    const stream = client.chat.completions.stream({
      model,
      messages: say(asks.json),
      response_format: { type: 'json_schema', json_schema: format },
    });
    assert.equal(typeof JSON.parse(await stream.finalContent()).city, 'string');
  });

  await check(`${model} · chat, streamed · one usage chunk only when asked for`, async () => {
    for (const wanted of [false, true]) {
      const usages = [];
      const stream = await client.chat.completions.create({
        model,
        messages: say(asks.text),
        stream: true,
        ...(wanted ? { stream_options: { include_usage: true } } : {}),
      });
      for await (const chunk of stream) if (chunk.usage) usages.push(chunk);
      assert.equal(usages.length, wanted ? 1 : 0);
      if (wanted) assert.deepEqual(usages[0].choices, []);
    }
  });

  await check(`${model} · chat · a stream that breaks off is an error`, async () => {
    const error = await refusalOf(async () => {
      const stream = await client.chat.completions.create({
        model: await failing(model),
        messages: say(asks.long),
        stream: true,
      });
      let text = '';
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      return text;
    });
    assert.ok(error instanceof APIError, String(error));
    assert.equal(error.code, 'stream_interrupted');
  });
}

/** Without what the client itself puts into the items of a stream. */
const asItCame = (item) =>
  JSON.parse(JSON.stringify(item, (name, value) => (/^parsed/.test(name) ? undefined : value)));

/** A client goes on from an answer by sending these instead of the whole conversation. */
const continuations = {
  previous_response_id: (past, last, fresh) => ({ input: fresh, previous_response_id: last?.id }),
  item_reference: (past, last, fresh) => ({
    input: [...past, ...fresh].map((item) =>
      item.id === undefined ? item : { type: 'item_reference', id: item.id },
    ),
  }),
  'items as they came': (past, last, fresh) => ({ input: [...past, ...fresh] }),
};

for (const model of [...responsesModels, ...reasoningModels]) {
  for (const stream of [false, true]) {
    for (const [way, bodyOf] of Object.entries(continuations)) {
      const manner = stream ? 'streamed' : 'whole';
      await check(`${model} · responses, ${manner} · three turns, words before calls, ${way}`, () => {
        const past = [];
        let last;
        const send = async (...fresh) => {
          const body = { model, tools: [functionTool], ...bodyOf(past, last, fresh) };
          last = stream
            ? await client.responses.stream(body).finalResponse()
            : await client.responses.create(body);
          past.push(...fresh, ...last.output.map(asItCame));
          return last;
        };
        return threeTurns(async (content, output) => {
          const first = await send({ role: 'user', content });
          if (output === undefined) return { words: textOf(first) };
          const calls = first.output.filter(({ type }) => type === 'function_call');
          const { call_id } = calls[0];
          const answer = await send({ type: 'function_call_output', call_id, output });
          return { words: textOf(first), calls: calls.length, answer: textOf(answer) };
        });
      });
    }
  }
}

await check('a kept response is read, deleted, and then unknown', async () => {
  const { id, output } = await client.responses.create({ model: 'chat-model', input: asks.text });
  assert.deepEqual((await client.responses.retrieve(id)).output, output);
  await client.responses.delete(id);
  const gone = await refusalOf(() => client.responses.retrieve(id));
  assert.deepEqual([gone.status, gone.code], [404, 'not_found']);
  const unknown = await refusalOf(() =>
    client.responses.create({ model: 'chat-model', input: 'x', previous_response_id: id }),
  );
  assert.deepEqual(
    [unknown.status, unknown.code, unknown.param],
    [404, 'previous_response_not_found', 'previous_response_id'],
  );
});

for (const model of responsesModels) {
  for (const stream of [false, true]) {
    await check(
      `${model} · responses, ${stream ? 'streamed' : 'whole'} · tools, result, answer`,
      async () => {
        const send = async (input) => {
          const body = { model, input, tools: [functionTool] };
          return stream ? client.responses.stream(body).finalResponse() : client.responses.create(body);
        };
        const first = await send(say(asks.twoTools));
        const calls = first.output.filter(({ type }) => type === 'function_call');
        assert.deepEqual(
          calls.map((call) => JSON.parse(call.arguments).city),
          ['Graz', 'Ulm'],
        );
        const results = calls.map((call) => ({
          type: 'function_call_output',
          call_id: call.call_id,
          output: weather(JSON.parse(call.arguments).city),
        }));
        const items = first.output.map(({ type, call_id, name, arguments: text, ...rest }) =>
          type === 'function_call' ? { type, call_id, name, arguments: text } : { type, ...rest },
        );
        const last = await send([...say(asks.twoTools), ...items, ...results]);
        assert.match(textOf(last), /sunny in Graz.*sunny in Ulm/s);
        assert.ok(last.usage.input_tokens > 0 && last.usage.output_tokens > 0);
      },
    );
  }

  await check(`${model} · responses, whole · JSON by a schema`, async () => {
    const answer = await client.responses.parse({
      model,
      input: asks.json,
      text: { format: { type: 'json_schema', ...format } },
    });
    assert.equal(typeof answer.output_parsed.city, 'string');
  });

  await check(`${model} · responses · a stream that breaks off is an error`, async () => {
    const types = [];
    const error = await refusalOf(async () => {
      const stream = await client.responses.create({
        model: await failing(model),
        input: asks.long,
        stream: true,
      });
      for await (const event of stream) {
        types.push(event.type);
        if (event.type === 'response.failed') throw event.response.error;
      }
      return types;
    });
    assert.equal(error.code, 'stream_interrupted', String(error));
  });
}

await check('native-model · native, streamed · tool, result, answer, usage', async () => {
  const native = new OpenAI({ ...options, baseURL: `${gateway}/v1/native` });
  const send = (input) =>
    native.responses
      .stream({
        model: 'native-model',
        input,
        tools: [functionTool],
      })
      .finalResponse();
  const first = await send(say(asks.oneTool));
  const call = first.output.find(({ type }) => type === 'function_call');
  const { call_id, name, arguments: text } = call;
  const last = await send([
    ...say(asks.oneTool),
    { type: 'function_call', call_id, name, arguments: text },
    { type: 'function_call_output', call_id, output: weather('Graz') },
  ]);
  assert.match(textOf(last), /sunny in Graz/);
  assert.ok(last.usage.input_tokens > 0);
});

await check('a wrong key, an unknown model, a missing field: each by its code', async () => {
  const wrong = new OpenAI({ ...options, apiKey: 'svc_wrong' });
  const ask = (one, model, messages) => refusalOf(() => one.chat.completions.create({ model, messages }));
  const bad = await ask(wrong, models[0], say('x'));
  assert.deepEqual([bad.status, bad.code, bad.type], [401, 'invalid_api_key', 'authentication_error']);
  assert.match(bad.requestID, /^[0-9a-f-]{36}$/);
  const unknown = await ask(client, 'no-such-model', say('x'));
  assert.deepEqual([unknown.status, unknown.code, unknown.param], [404, 'model_not_found', 'model']);
  const missing = await ask(client, models[0], undefined);
  assert.deepEqual([missing.status, missing.param], [400, 'messages']);
});

await check('models are listed and found', async () => {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.ok(models.every((name) => names.includes(name)));
  assert.equal((await client.models.retrieve(models[0])).object, 'model');
});

await check('vectors come whole from a supplier that knows no base64', async () => {
  const ask = async (rest) =>
    (await client.embeddings.create({ model: 'vectors', input: 'x', ...rest })).data[0].embedding;
  const [usual, plain] = [await ask({}), await ask({ encoding_format: 'float' })];
  assert.equal(usual.length, plain.length);
  assert.ok(plain.length > 8 && usual.every((value, at) => Math.abs(value - plain[at]) < 1e-6));
});
