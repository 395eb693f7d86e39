import assert from 'node:assert/strict';
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';
import {
  asks,
  check,
  failing,
  gateway,
  key,
  models,
  refusalOf,
  responsesModels,
  weather,
} from './checks.mjs';

const configuration = { baseURL: `${gateway}/v1` };
const openai = (model, rest = {}) =>
  new ChatOpenAI({ model, apiKey: key, configuration, maxRetries: 0, ...rest });
const ways = {
  'openai, chat': (model) => openai(model),
  'openai, responses': (model) => openai(model, { useResponsesApi: true }),
  anthropic: (model) => new ChatAnthropic({ model, apiKey: key, anthropicApiUrl: gateway, maxRetries: 0 }),
};

const city = z.object({ city: z.string() });
const tools = [
  tool(({ city }) => weather(city), {
    name: 'weather',
    description: 'The weather of a city',
    schema: city,
  }),
];

async function streamed(model, messages) {
  let whole;
  for await (const piece of await model.stream(messages)) whole = whole?.concat(piece) ?? piece;
  return whole;
}

for (const [way, provide] of Object.entries(ways)) {
  for (const model of way.includes('responses') ? responsesModels : models) {
    for (const manner of ['whole', 'streamed']) {
      await check(`${way} · ${model} · ${manner} · parallel tools, answer, usage`, async () => {
        const bound = provide(model).bindTools(tools);
        const send = (messages) =>
          manner === 'streamed' ? streamed(bound, messages) : bound.invoke(messages);
        const question = [new HumanMessage(asks.twoToolsMixed)];
        const first = await send(question);
        assert.deepEqual(
          first.tool_calls.map(({ args }) => args.city),
          ['Graz', 'Ulm'],
        );
        const results = first.tool_calls.map(
          ({ id, args }) => new ToolMessage({ tool_call_id: id, content: weather(args.city) }),
        );
        const last = await send([...question, first, ...results]);
        assert.match(last.text, /sunny in Graz.*sunny in Ulm/s);
        assert.ok(last.usage_metadata.input_tokens > 0 && last.usage_metadata.output_tokens > 0);
      });
    }

    for (const manner of ['whole', 'streamed']) {
      await check(`${way} · ${model} · ${manner} · three turns, words before each call`, async () => {
        const bound = provide(model).bindTools(tools);
        const messages = [];
        const turn = async (message) => {
          messages.push(message);
          const answer =
            manner === 'streamed' ? await streamed(bound, messages) : await bound.invoke(messages);
          messages.push(answer);
          return answer;
        };
        for (const city of ['Graz', 'Ulm']) {
          const { text, tool_calls: calls } = await turn(new HumanMessage(asks.wordsAndTool(city)));
          assert.ok(text.length > 0, 'no words before the call');
          assert.equal(calls.length, 1);
          const result = new ToolMessage({ tool_call_id: calls[0].id, content: weather(city) });
          assert.match((await turn(result)).text, new RegExp(weather(city)));
        }
        assert.equal((await turn(new HumanMessage(asks.echo('Goodbye')))).text, 'Goodbye');
      });
    }

    await check(`${way} · ${model} · whole · JSON by a schema`, async () => {
      const answer = await provide(model).withStructuredOutput(city).invoke(asks.json);
      assert.equal(typeof answer.city, 'string');
    });

    await check(`${way} · ${model} · a stream that breaks off is an error`, async () => {
      const error = await refusalOf(async () => streamed(provide(await failing(model)), asks.long));
      assert.match(`${error.message} ${error.code}`, /stream_interrupted/);
    });
  }
}

await check('a wrong key and an unknown model by their codes', async () => {
  const bad = await refusalOf(() => openai('chat-model', { apiKey: 'svc_wrong' }).invoke('x'));
  assert.match(bad.message, /401 invalid_api_key - /);
  const unknown = await refusalOf(() => ways.anthropic('no-such-model').invoke('x'));
  assert.match(unknown.message, /404.*model_not_found - /s);
});

await check('vectors', async () => {
  const vectors = new OpenAIEmbeddings({ model: 'vectors', apiKey: key, configuration, maxRetries: 0 });
  const vector = await vectors.embedQuery('x');
  assert.ok(vector.length > 8 && vector.every(Number.isFinite));
});
