import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, embed, generateText, isStepCount, Output, streamText, tool } from 'ai';
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

const place = { baseURL: `${gateway}/v1`, apiKey: key };
const openai = createOpenAI(place);
const anthropic = createAnthropic(place);
const compatible = createOpenAICompatible({
  ...place,
  name: 'switchboard',
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const ways = {
  'openai, responses': (model) => openai(model),
  'openai, chat': (model) => openai.chat(model),
  'openai-compatible': (model) => compatible(model),
  anthropic: (model) => anthropic(model),
};

const city = z.object({ city: z.string() });
function weatherTool() {
  const cities = [];
  const execute = ({ city }) => (cities.push(city), weather(city));
  return {
    cities,
    tools: { weather: tool({ description: 'The weather of a city', inputSchema: city, execute }) },
  };
}

for (const [way, provide] of Object.entries(ways)) {
  for (const model of way.includes('responses') ? responsesModels : models) {
    const once = { model: provide(model), maxRetries: 0 };

    await check(`${way} · ${model} · whole · parallel tools, answer, usage`, async () => {
      const { cities, tools } = weatherTool();
      const { text, steps, usage } = await generateText({
        ...once,
        prompt: asks.twoTools,
        tools,
        stopWhen: isStepCount(3),
      });
      assert.match(text, /sunny in Graz.*sunny in Ulm/s);
      assert.deepEqual([cities, steps.length], [['Graz', 'Ulm'], 2]);
      assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
    });

    await check(`${way} · ${model} · streamed · parallel tools, answer, usage`, async () => {
      const { cities, tools } = weatherTool();
      const stream = streamText({
        ...once,
        prompt: asks.twoToolsMixed,
        tools,
        stopWhen: isStepCount(3),
        onError: () => undefined,
      });
      let text = '';
      for await (const piece of stream.textStream) text += piece;
      assert.match(text, /sunny in Graz.*sunny in Ulm/s);
      assert.deepEqual(cities, ['Graz', 'Ulm']);
      assert.equal(await stream.finishReason, 'stop');
      const usage = await stream.usage;
      assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
    });

    await check(`${way} · ${model} · whole · JSON by a schema`, async () => {
      const { output } = await generateText({
        ...once,
        prompt: asks.json,
        output: Output.object({ schema: city }),
      });
      assert.equal(typeof output.city, 'string');
    });

    await check(`${way} · ${model} · a stream that breaks off is an error`, async () => {
      const errors = [];
      const stream = streamText({
        model: provide(await failing(model)),
        maxRetries: 0,
        prompt: asks.long,
        onError: ({ error }) => void errors.push(error),
      });
      await stream.consumeStream();
      assert.equal(errors.length, 1);
      assert.match(JSON.stringify([errors[0], errors[0]?.message]), /stream_interrupted/);
    });
  }
}

for (const [way, wrong] of Object.entries({
  openai: createOpenAI({ ...place, apiKey: 'svc_wrong' })('chat-model'),
  anthropic: createAnthropic({ ...place, apiKey: 'svc_wrong' })('chat-model'),
})) {
  await check(`${way} · a wrong key and an unknown model by their codes`, async () => {
    const ask = (model) => refusalOf(() => generateText({ model, maxRetries: 0, prompt: 'x' }));
    const bad = await ask(wrong);
    assert.ok(APICallError.isInstance(bad), String(bad));
    assert.equal(bad.statusCode, 401);
    assert.match(bad.message, /^invalid_api_key - /);
    const unknown = await ask({ openai, anthropic }[way]('no-such-model'));
    assert.equal(unknown.statusCode, 404);
    assert.match(unknown.message, /^model_not_found - /);
  });
}

await check('openai · vectors', async () => {
  const { embedding } = await embed({ model: openai.embedding('vectors'), value: 'x', maxRetries: 0 });
  assert.ok(embedding.length > 8 && embedding.every(Number.isFinite));
});
