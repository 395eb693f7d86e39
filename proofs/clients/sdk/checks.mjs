// Every script of this folder shares the gateway's address, the tools, and the way to report a check.
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

export const { GATEWAY_URL: gateway, GATEWAY_KEY: key } = process.env;

/** One model behind a supplier that speaks chat, one behind a supplier that speaks messages. */
export const models = ['chat-model', 'messages-model'];
/** Clients of responses are also tried on a supplier that speaks it. */
export const responsesModels = [...models, 'responses-model'];

/** The same on models that show their reasoning; suppliers of messages only show it to callers who ask for it. */
export const reasoningModels = ['reasoning-chat-model', 'reasoning-responses-model'];

/**
 * Its twin whose long streams break off. Five failures in a row would give that supplier a rest; a short answer,
 * which comes whole, shows that it is well.
 */
export async function failing(model) {
  const twin = `failing-${model}`;
  const answer = await fetch(`${gateway}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: twin,
      stream: true,
      messages: [{ role: 'user', content: 'Briefly. [[tokens=1]]' }],
    }),
  });
  const text = await answer.text();
  if (!text.includes('[DONE]')) throw new Error(`the short answer did not come whole: ${text}`);
  return twin;
}

/** The supplier is asked to do these; its directives are described in simulator/README.md. */
export const asks = {
  oneTool: 'What is the weather? [[tool=weather({"city":"Graz"})]]',
  twoTools: 'And in both? [[tool=weather({"city":"Graz"})]][[tool=weather({"city":"Ulm"})]]',
  twoToolsMixed: 'In both? [[interleave]][[tool=weather({"city":"Graz"})]][[tool=weather({"city":"Ulm"})]]',
  // Suppliers of messages send no text at all for arguments that are empty; clients of chat cannot parse that.
  emptyTool: {
    'chat-model': 'What time is it? [[tool=clock]][[empty-args]]',
    'messages-model': 'What time is it? [[tool=clock]][[no-args]]',
  },
  wordsAndTool: (city) => `And in ${city}? [[aloud]][[tool=weather({"city":"${city}"})]]`,
  echo: (text) => `Say it. [[echo=${text}]]`,
  text: 'Say something. [[tokens=20]]',
  long: 'Say a lot. [[tokens=60]]',
  json: 'Name a city.',
};

export const weather = (city) => `sunny in ${city}`;
export const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

const CHECK_DEADLINE_MS = 30_000;

/** Reports one line; a check that fails does not keep the others from being made. */
export async function check(what, work) {
  const deadline = delay(CHECK_DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`nothing after ${CHECK_DEADLINE_MS} ms`);
  });
  let fault = null;
  try {
    await Promise.race([work(), deadline]);
  } catch (error) {
    fault = String(error?.stack ?? error);
  }
  process.stdout.write(`${JSON.stringify({ what, fault })}\n`);
}

/** The refusal of `work` is returned; that it is not refused is a fault. */
export async function refusalOf(work) {
  let answer;
  try {
    answer = await work();
  } catch (error) {
    return error;
  }
  throw new Error(`was not refused: ${JSON.stringify(answer)}`);
}
