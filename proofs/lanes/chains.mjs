// Runs six turns with tools, reasoning and an image through each vendor's official SDK, on changing lanes.
import process from 'node:process';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const { GATEWAY_URL: gateway, GATEWAY_KEY: key, MODEL: model, LANES: said, STEP: step } = process.env;
const lanes = JSON.parse(said);
const names = lanes.map(({ name }) => name);
const TURNS = 6;
const AT_ONCE = 4;

const anthropic = new Anthropic({ baseURL: gateway, apiKey: key, maxRetries: 0 });
const openai = new OpenAI({ baseURL: `${gateway}/v1`, apiKey: key, maxRetries: 0 });

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const picture = `data:image/png;base64,${pixel}`;
const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
const question = (chain, turn) =>
  `${chain}, turn ${turn} [[think=5]][[tool=look({"n":${turn}})]][[tool=look({"n":0})]]`;

/** Each caller sends the next request of a conversation and tells whether the model calls tools. */
const callers = {
  messages: {
    ask: (history, text, turn) => {
      const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } };
      history.push({ role: 'user', content: [{ type: 'text', text }, ...(turn === 0 ? [image] : [])] });
    },
    async answer(history, rest, stream) {
      const body = {
        model,
        max_tokens: 4_000,
        thinking: { type: 'enabled', budget_tokens: 1_024 },
        tools: [{ name: 'look', input_schema: schema }],
        messages: history,
        ...rest,
      };
      const { content } = stream
        ? await anthropic.messages.stream(body).finalMessage()
        : await anthropic.messages.create(body);
      history.push({ role: 'assistant', content });
      const calls = content.filter(({ type }) => type === 'tool_use');
      const result = ({ id, input }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: `seen ${input.n}`,
      });
      if (calls.length > 0) history.push({ role: 'user', content: calls.map(result) });
      return calls.length;
    },
  },
  chat: {
    ask: (history, text, turn) => {
      const image = { type: 'image_url', image_url: { url: picture } };
      history.push({ role: 'user', content: [{ type: 'text', text }, ...(turn === 0 ? [image] : [])] });
    },
    async answer(history, rest, stream) {
      const body = {
        model,
        max_completion_tokens: 4_000,
        reasoning_effort: 'low',
        tools: [{ type: 'function', function: { name: 'look', parameters: schema } }],
        messages: history,
        ...rest,
      };
      const { choices } = stream
        ? await openai.chat.completions.stream(body).finalChatCompletion()
        : await openai.chat.completions.create(body);
      const { role, content, tool_calls: calls = [] } = choices[0].message;
      history.push({ role, content, ...(calls.length > 0 && { tool_calls: calls }) });
      for (const { id, function: called } of calls)
        history.push({ role: 'tool', tool_call_id: id, content: `seen ${JSON.parse(called.arguments).n}` });
      return calls.length;
    },
  },
  responses: {
    ask: (history, text, turn) => {
      const image = { type: 'input_image', image_url: picture, detail: 'auto' };
      history.push({ role: 'user', content: [{ type: 'input_text', text }, ...(turn === 0 ? [image] : [])] });
    },
    async answer(history, rest, stream) {
      const body = {
        model,
        max_output_tokens: 4_000,
        reasoning: { effort: 'low', summary: 'auto' },
        include: ['reasoning.encrypted_content'],
        store: false,
        tools: [{ type: 'function', name: 'look', parameters: schema, strict: false }],
        input: history,
        ...rest,
      };
      const { output } = stream
        ? await openai.responses.stream(body).finalResponse()
        : await openai.responses.create(body);
      const calls = output.filter(({ type }) => type === 'function_call');
      history.push(...output.map((item) => ({ ...item, parsed_arguments: undefined })));
      for (const { call_id, arguments: text } of calls)
        history.push({ type: 'function_call_output', call_id, output: `seen ${JSON.parse(text).n}` });
      return calls.length;
    },
  },
};

/** `order` selects the lane per turn, or per request within tool rounds as well. */
async function hold(dialect, chain, order, { stream, everyRequest }) {
  const { ask, answer } = callers[dialect];
  const history = [];
  let requests = 0;
  for (let turn = 0; turn < TURNS; turn += 1) {
    ask(history, question(chain, turn), turn);
    for (let round = 0; ; round += 1) {
      const lane = order[(everyRequest ? requests : turn) % order.length];
      const calls = await answer(history, { region: lane }, stream).catch((error) => {
        throw new Error(`turn ${turn}, round ${round} on ${lane}: ${error.message}`);
      });
      requests += 1;
      if (calls === 0) break;
      if (round > 0) throw new Error(`turn ${turn} calls for ever`);
    }
  }
  if (requests !== 2 * TURNS) throw new Error(`${requests} requests in place of ${2 * TURNS}`);
}

/** Amount of earlier reasoning that the last request of a chain returned to its lane. */
async function broughtBack(lane, chain) {
  const { controlUrl } = lanes.find(({ name }) => name === lane);
  const { requests } = await (await fetch(`${controlUrl}/requests`)).json();
  const { body } = requests.findLast((request) => JSON.stringify(request.body).includes(`${chain}, `));
  const { messages = [], input = [] } = typeof body === 'string' ? JSON.parse(body) : body;
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return [...parts, ...input].filter(({ type }) => type === 'thinking' || type === 'reasoning').length;
}

const own = { messages: 'anthropic', responses: 'openai' };

/** A lane that answers the complete conversation gets all of its reasoning back if the client can carry it. */
function expectedBack(dialect, lane) {
  const isCarried =
    dialect === 'messages' ? lane.startsWith('anthropic') : dialect === 'responses' && lane !== 'kimi';
  return isCarried && own[dialect] !== undefined ? 2 * TURNS - 1 : 0;
}

const jobs = [];
let made = 0;
const add = (dialect, order, manner) => {
  const chain = `chain-${(made += 1)}`;
  const how = `${order.join(' → ')}, ${manner.stream ? 'streamed' : 'whole'}, ${manner.everyRequest ? 'changing within rounds' : 'changing with turns'}`;
  jobs.push(async () => {
    let fault = null;
    try {
      await hold(dialect, chain, order, manner);
      if (order.length === 1) {
        const [found, expected] = [await broughtBack(order[0], chain), expectedBack(dialect, order[0])];
        if (found !== expected) throw new Error(`${found} pieces of reasoning came back, not ${expected}`);
      }
    } catch (error) {
      fault = String(error?.message ?? error);
    }
    process.stdout.write(`${JSON.stringify({ client: dialect, what: how, fault })}\n`);
  });
};

for (const dialect of Object.keys(callers)) {
  for (const stream of [false, true]) {
    for (const name of names) add(dialect, [name], { stream, everyRequest: false });
    for (const one of names)
      for (const two of names)
        for (const three of names) {
          if (new Set([one, two, three]).size < 3) continue;
          for (const everyRequest of [false, true]) add(dialect, [one, two, three], { stream, everyRequest });
        }
  }
}

const wanted = jobs.filter((_job, place) => place % Number(step) === 0);
const work = async () => {
  for (let job = wanted.shift(); job !== undefined; job = wanted.shift()) await job();
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
