import assert from 'node:assert/strict';
import process from 'node:process';
import { z } from 'zod';
import { asks, check, gateway, key, reasoningModels, responsesModels, weather } from './checks.mjs';

// Conversations over responses as docs/clients.md sets the client up: it names earlier items instead of repeating them.
const [sdk, openaiPackage] = process.argv.slice(2);
const { generateText, isStepCount, stepCountIs, streamText, tool } = await import(sdk);
const { createOpenAI } = await import(openaiPackage);
const stopWhen = (isStepCount ?? stepCountIs)(3);
const openai = createOpenAI({ baseURL: `${gateway}/v1`, apiKey: key });

const tools = {
  weather: tool({
    description: 'The weather of a city',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => weather(city),
  }),
};
const say = (content) => ({ role: 'user', content });

async function whole(settings) {
  const { text, steps, response } = await generateText(settings);
  return { text, steps, messages: response.messages, id: steps.at(-1).providerMetadata.openai.responseId };
}

async function streamed(settings) {
  const errors = [];
  const stream = streamText({ ...settings, onError: ({ error }) => void errors.push(error) });
  await stream.consumeStream();
  if (errors.length > 0) throw errors[0];
  const steps = await stream.steps;
  const { messages } = await stream.response;
  return { text: await stream.text, steps, messages, id: steps.at(-1).providerMetadata.openai.responseId };
}

/** Some majors answer the messages of the last step only. */
const saidIn = ({ steps, messages }) =>
  messages.length >= steps.length ? messages : steps.flatMap(({ response }) => response.messages);

for (const [manner, send] of Object.entries({ whole, streamed })) {
  for (const model of [...responsesModels, ...reasoningModels]) {
    const once = { model: openai(model), maxRetries: 0, tools, stopWhen };
    const storesNot = { providerOptions: { openai: { store: false } } };

    for (const [way, options] of Object.entries({ 'as it comes': {}, 'store: false': storesNot })) {
      await check(`${model} · ${manner} · three turns, words before each call, ${way}`, async () => {
        const messages = [];
        for (const city of ['Graz', 'Ulm']) {
          messages.push(say(asks.wordsAndTool(city)));
          const turn = await send({ ...once, ...options, messages });
          assert.equal(turn.steps.length, 2);
          assert.ok(turn.steps[0].text.length > 0, 'no words before the call');
          assert.equal(turn.steps[0].toolCalls.length, 1);
          assert.match(turn.text, new RegExp(weather(city)));
          if (reasoningModels.includes(model)) assert.ok(turn.steps[0].reasoningText.length > 0);
          messages.push(...saidIn(turn));
        }
        messages.push(say(asks.echo('Goodbye')));
        assert.equal((await send({ ...once, ...options, messages })).text, 'Goodbye');
      });
    }

    await check(`${model} · ${manner} · three turns by previousResponseId`, async () => {
      let openai = {};
      for (const city of ['Graz', 'Ulm']) {
        const turn = await send({
          ...once,
          providerOptions: { openai },
          stopWhen: [],
          prompt: asks.echo(weather(city)),
        });
        assert.equal(turn.text, weather(city));
        openai = { previousResponseId: turn.id };
      }
      const last = await send({ ...once, providerOptions: { openai }, prompt: asks.echo('Goodbye') });
      assert.equal(last.text, 'Goodbye');
    });
  }
}
