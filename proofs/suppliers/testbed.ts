import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { GatewayFile } from '../../test/system/node';

/** The supplier's response to the next call. */
export interface SupplierScript {
  readonly status?: number;
  readonly type: string;
  readonly pieces: readonly Buffer[];
}

export interface ReceivedResponse {
  readonly status: number;
  readonly requestId: string;
  readonly body: string;
  readonly bytes: Buffer;
  readonly tokensIn: string;
  readonly tokensOut: string;
  readonly cost: string;
  /** Number of pieces the supplier had written when the client received the first bytes. */
  readonly firstAfter: number;
}

export const models: Readonly<Record<string, string>> = {
  chat: 'on-chat',
  responses: 'on-chat',
  messages: 'on-messages',
  gemini: 'on-gemini',
  bedrock: 'on-bedrock',
  choices: 'on-chat',
  embeddings: 'of-embedding',
  moderation: 'of-moderation',
  image: 'of-image',
  rerank: 'of-rerank',
  transcription: 'of-transcription',
  verbose: 'of-transcription',
};
/** Models called by a name other than that of the format. */
export const NATIVE = 'on-native';
export const SPEECH = 'of-speech';

/** Time to wait for the client after each piece until the first bytes have arrived. */
export const QUICK_MS = 5;
export const PATIENT_MS = 250;

/**
 * The shipped build before a scripted supplier. Each piece is a separate chunk; until the client has received bytes,
 * the next one is delayed.
 */
export class SupplierTestbed {
  private script: SupplierScript = { type: '', pieces: [] };
  private patienceMs = 0;
  private writtenPieces = 0;
  private firstAfter = -1;
  private onFirstBytes = (): void => undefined;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  private constructor(
    private readonly gateway: ProofGateway,
    private readonly supplier: Server,
  ) {}

  static async open(): Promise<SupplierTestbed> {
    const supplier = createServer();
    supplier.listen(0, '127.0.0.1');
    await once(supplier, 'listening');
    const gateway = await startGateway({
      PUBLIC_REQUESTS_PER_MINUTE: '1000000',
      AWS_ID: 'AKIAEXAMPLE',
      AWS_SECRET: 'secret-of-the-proof',
    });
    const testbed = new SupplierTestbed(gateway, supplier);
    supplier.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void testbed.answer(request, response);
    });
    const { port } = supplier.address() as AddressInfo;
    await gateway.node.apply(catalogueOf(`http://127.0.0.1:${port}`));
    return testbed;
  }

  /** Sends a form as such and any other body as JSON. */
  async send(path: string, body: object, script: SupplierScript, patienceMs = 0): Promise<ReceivedResponse> {
    this.script = script;
    this.patienceMs = patienceMs;
    this.writtenPieces = 0;
    this.firstAfter = -1;
    const encoded = new Response(body instanceof FormData ? body : JSON.stringify(body));
    const type = body instanceof FormData ? encoded.headers.get('content-type')! : 'application/json';
    const bytes = Buffer.from(await encoded.arrayBuffer());
    return new Promise((resolve, reject) => {
      const clientRequest = request(
        this.gateway.node.url + path,
        {
          method: 'POST',
          agent: this.agent,
          headers: {
            authorization: `Bearer ${this.gateway.node.keys.demo}`,
            'content-type': type,
            'content-length': bytes.length,
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => {
            if (this.firstAfter === -1) this.firstAfter = this.writtenPieces;
            this.onFirstBytes();
            chunks.push(chunk);
          });
          answer.on('error', reject);
          answer.on('end', () => {
            const headerOf = (name: string): string =>
              String(answer.headers[name] ?? answer.trailers[name] ?? '');
            resolve({
              status: answer.statusCode ?? 0,
              requestId: headerOf('x-request-id'),
              body: Buffer.concat(chunks).toString(),
              bytes: Buffer.concat(chunks),
              tokensIn: headerOf('x-svc-input-tokens'),
              tokensOut: headerOf('x-svc-output-tokens'),
              cost: headerOf('x-svc-cost-usd'),
              firstAfter: this.firstAfter,
            });
          });
        },
      );
      clientRequest.on('error', reject);
      clientRequest.end(bytes);
    });
  }

  /** Those of the requests that were charged. */
  async chargedAmong(requestIds: readonly string[]): Promise<string[]> {
    const rows = await this.gateway.rows.query<{ request_id: string }>(
      'SELECT request_id FROM request_record WHERE request_id = ANY($1) AND cost_nano > 0',
      [requestIds],
    );
    return rows.map(({ request_id: id }) => id);
  }

  /** Reads usage sources once all records are there; records are written in batches. */
  async usageSources(requestIds: readonly string[]): Promise<Map<string, string>> {
    const pendingIds = new Set(requestIds);
    for (const deadline = Date.now() + 10_000; ;) {
      const rows = await this.gateway.rows.query<{ request_id: string; usage_source: string }>(
        'SELECT request_id, usage_source FROM request_record WHERE request_id = ANY($1)',
        [[...pendingIds]],
      );
      if (rows.length === pendingIds.size || Date.now() > deadline)
        return new Map(rows.map(({ request_id: id, usage_source: source }) => [id, source]));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async close(): Promise<void> {
    this.agent.destroy();
    await this.gateway.stop();
    this.supplier.closeAllConnections();
    this.supplier.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { script } = this;
    request.resume();
    await once(request, 'end');
    response.writeHead(script.status ?? 200, { 'content-type': script.type });
    response.flushHeaders();
    for (const piece of script.pieces) {
      if (response.destroyed) return;
      this.writtenPieces += 1;
      response.write(piece);
      if (this.patienceMs > 0 && this.firstAfter === -1) await this.waitForClient();
    }
    response.end();
  }

  /** Resolves when the client has received bytes, or after the requested time. */
  private waitForClient(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.patienceMs);
      this.onFirstBytes = (): void => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const price = { input: 0.01, output: 0.02 };

/** A supplier of every style at one address, and a model of every kind. */
function catalogueOf(base_url: string): GatewayFile {
  const supplier = (style: string, rest: object = {}): object => ({
    style,
    base_url,
    regions: ['eu'],
    ...rest,
  });
  const keyAuth = { api_key: '${SUPPLIER_KEY}' };
  const signing = { kind: 'sigv4', access_key_id: '${AWS_ID}', secret_access_key: '${AWS_SECRET}' };
  const pool = { kind: 'oauth-pool', access_token: '${SUPPLIER_KEY}', refresh_token: '${SUPPLIER_KEY}' };
  const oauth = { token_url: `${base_url}/token`, client_id: 'proof' };
  const model = (provider: string, kind: string, rest: object): object => ({
    kind,
    owned_by: 'proof',
    lanes: [{ provider, model: 'upstream/m', region: 'eu' }],
    ...rest,
  });
  const chatting = { context_tokens: 200_000, max_output_tokens: 8_000, price };
  const chat = ['chat', 'messages', 'gemini', 'bedrock', 'native'].map((name) => [
    `on-${name}`,
    model(name, 'chat', chatting),
  ]);
  const others = ['embedding', 'moderation', 'image', 'transcription', 'speech'].map((kind) => [
    `of-${kind}`,
    model('chat', kind, { price }),
  ]);
  return {
    providers: {
      chat: supplier('openai-style', { ...keyAuth, settings: { profile: 'openai' } }),
      messages: supplier('messages-style', keyAuth),
      gemini: supplier('gemini', keyAuth),
      bedrock: supplier('bedrock', { credentials: { one: signing } }),
      native: supplier('native-oauth', { credentials: { one: pool }, settings: { oauth } }),
      rerank: supplier('cohere-rerank', keyAuth),
    },
    models: Object.fromEntries([
      ...chat,
      ...others,
      ['of-rerank', model('rerank', 'rerank', { price: { input: 0, output: 0, per_call: 0.002 } })],
    ]) as Record<string, object>,
  };
}
