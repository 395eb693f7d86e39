/** A complete response in the Responses dialect with these output items followed by a message. */
export const responsesBody = (output: readonly object[], usage: object = {}): object => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'sim-large',
  output: [
    ...output,
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
    },
  ],
  usage: { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100, ...usage },
});
