import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SupplierSample } from '../options';

const tokensOf = (text: string): number => Math.ceil(text.length / 4);

export interface CountedCall {
  readonly body: string;
  readonly input: number;
  readonly output: number;
}

interface ChatRequestBody {
  readonly stream?: boolean;
  readonly messages?: readonly { readonly content?: unknown }[];
}

export class StandIn {
  answer = 'Good day.';
  cuts: readonly number[] = [];
  readonly calls: CountedCall[] = [];
  /** Recorded responses that replace the reply. */
  sample: SupplierSample | undefined;
  /** Whether the next recorded response is the streaming one. */
  isStreaming = false;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<StandIn> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const standIn = new StandIn(server, `http://127.0.0.1:${port}`);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void standIn.serve(request, response);
    });
    return standIn;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    if (request.method !== 'POST') return void response.writeHead(404).end('{}');
    const { stream = false, messages = [] } = JSON.parse(body) as ChatRequestBody;
    if (this.sample !== undefined) return this.replay(this.sample, body, response);
    const { answer } = this;
    const input = messages.reduce((sum, { content }) => sum + tokensOf(JSON.stringify(content ?? '')), 0);
    const output = tokensOf(answer);
    this.calls.push({ body, input, output });
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
    const common = { id: 'chatcmpl-kit', created: 1, model: 'kit-model' };
    if (!stream) {
      const message = { role: 'assistant', content: answer };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...common, object: 'chat.completion', choices, usage }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (choices: readonly object[], more: object = {}): void =>
      void response.write(
        `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`,
      );
    const positions = [0, ...this.cuts, answer.length];
    for (const [at, end] of positions.slice(1).entries()) {
      const content = answer.slice(positions[at], end);
      const delta = at === 0 ? { role: 'assistant', content } : { content };
      event([{ index: 0, delta, finish_reason: null }]);
    }
    event([{ index: 0, delta: {}, finish_reason: 'stop' }]);
    event([], { usage });
    response.end('data: [DONE]\n\n');
  }

  private replay(sample: SupplierSample, body: string, response: ServerResponse): void {
    this.calls.push({ body, input: sample.inputTokens, output: sample.outputTokens });
    response.writeHead(200, { 'content-type': this.isStreaming ? 'text/event-stream' : 'application/json' });
    response.end((this.isStreaming ? sample.stream : sample.response) ?? '');
  }
}
