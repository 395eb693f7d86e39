import { parseUsd, parseUsdPerMillion } from '#product/kernel';

/** An agent's request body, with spaces and numbers that serialising it again would change. */
export const agentBody = (model: string, text: string, extra = ''): string =>
  `{ "model" : ${JSON.stringify(model)},${extra}
  "input": [
    {"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"Be brief."}]},
    {"type":"message","role":"user","content":[{"type":"input_text","text":${JSON.stringify(text)}}]},
    {"type":"function_call","id":"fc_1","call_id":"call_1","name":"shell","arguments":"{}"},
    {"type":"function_call_output","call_id":"call_1","output":"d\\u006fne"}
  ],
  "tools": [ {"type":"function","name":"shell","parameters":{"type":"object","properties":{}},"strict":false},
    {"type":"namespace","name":"files","tools":[]}, {"type":"web_search"} ],
  "tool_choice":"auto", "parallel_tool_calls":true, "reasoning":{"effort":"medium","summary":"auto"},
  "store" : false, "stream" : true, "include":["reasoning.encrypted_content"],
  "prompt_cache_key":"0190", "client_metadata":{"n":"1.0"} }`;

/** Includes web search, because agents offer that tool in every request. */
export const agentRates = {
  input: parseUsdPerMillion('1'),
  output: parseUsdPerMillion('2'),
  uses: { web_search: parseUsd('0.01') },
};
