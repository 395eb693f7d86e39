import { Agent, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { CatalogueEditor, CatalogueService, CredentialEditor, PriceService } from '../../src/catalogue';
import { parseUsdPerMillion, priceRates } from '../../src/kernel';
import { Database, SupplierTransport, type SupplierHandler } from '../../src/platform';
import { type ProofGateway, startGateway } from '../support/gateway';

/** What the supplier answers to the next call. */
export interface Script {
  readonly status?: number;
  readonly type: string;
  readonly pieces: readonly Buffer[];
}

export interface Received {
  readonly status: number;
  readonly requestId: string;
  readonly body: string;
  readonly bytes: Buffer;
  readonly tokensIn: string;
  readonly tokensOut: string;
  readonly cost: string;
  /** How many pieces the supplier had written when the caller got the first bytes. */
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
/** Models that a caller asks for by another name than that of the wire. */
export const NATIVE = 'on-native';
export const SPEECH = 'of-speech';

/**
 * The whole service over HTTP, with only the connection to suppliers replaced. Pieces are handed over one by one, and
 * after each one the proof checks what the caller has received.
 */
export class Testbed {
  private script: Script = { type: '', pieces: [] };
  private written = 0;
  private firstAfter = -1;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  private constructor(
    private readonly gateway: ProofGateway,
    private readonly key: string,
  ) {}

  static async open(): Promise<Testbed> {
    const gateway = await startGateway({ PUBLIC_REQUESTS_PER_MINUTE: '1000000' });
    const testbed = new Testbed(gateway, gateway.service.firstKeys?.demo ?? '');
    await testbed.prepare();
    const { application } = gateway.service;
    const pools = application.get(SupplierTransport, { strict: false });
    pools.dispatch = (_request, handler) => testbed.dispatch(handler);
    const server = application.getHttpServer() as Server;
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) =>
      testbed.watch(response),
    );
    return testbed;
  }

  /** A body that is a form goes as one; any other as JSON. */
  async ask(path: string, body: object, script: Script): Promise<Received> {
    this.script = script;
    this.written = 0;
    this.firstAfter = -1;
    const encoded = new Response(body instanceof FormData ? body : JSON.stringify(body));
    const type = body instanceof FormData ? encoded.headers.get('content-type')! : 'application/json';
    const bytes = Buffer.from(await encoded.arrayBuffer());
    return new Promise((resolve, reject) => {
      const sending = request(
        this.gateway.service.url + path,
        {
          method: 'POST',
          agent: this.agent,
          headers: {
            authorization: `Bearer ${this.key}`,
            'content-type': type,
            'content-length': bytes.length,
          },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () => {
            const told = (name: string): string =>
              String(answer.headers[name] ?? answer.trailers[name] ?? '');
            resolve({
              status: answer.statusCode ?? 0,
              requestId: told('x-request-id'),
              body: Buffer.concat(chunks).toString(),
              bytes: Buffer.concat(chunks),
              tokensIn: told('x-svc-input-tokens'),
              tokensOut: told('x-svc-output-tokens'),
              cost: told('x-svc-cost-usd'),
              firstAfter: this.firstAfter,
            });
          });
        },
      );
      sending.on('error', reject);
      sending.end(bytes);
    });
  }

  /** Of these requests, those that were charged. */
  async charged(requestIds: readonly string[]): Promise<string[]> {
    const database = this.gateway.service.application.get(Database);
    const rows = await database.query<{ request_id: string }>(
      'SELECT request_id FROM request_record WHERE request_id = ANY($1) AND cost_nano > 0',
      [requestIds],
    );
    return rows.map(({ request_id: id }) => id);
  }

  /** Where the usage on record came from, by request, once all of them are on record: records are written in batches. */
  async sources(requestIds: readonly string[]): Promise<Map<string, string>> {
    const database = this.gateway.service.application.get(Database);
    const wanted = new Set(requestIds);
    for (const deadline = Date.now() + 10_000; ;) {
      const rows = await database.query<{ request_id: string; usage_source: string }>(
        'SELECT request_id, usage_source FROM request_record WHERE request_id = ANY($1)',
        [[...wanted]],
      );
      if (rows.length === wanted.size || Date.now() > deadline)
        return new Map(rows.map(({ request_id: id, usage_source: source }) => [id, source]));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  close(): Promise<void> {
    this.agent.destroy();
    return this.gateway.stop();
  }

  private watch(response: ServerResponse): void {
    const write = response.write.bind(response) as (...given: unknown[]) => boolean;
    response.write = (...given: unknown[]): boolean => {
      if (this.firstAfter === -1) this.firstAfter = this.written;
      return write(...given);
    };
  }

  private dispatch(handler: SupplierHandler): ReturnType<SupplierTransport['dispatch']> {
    const { script } = this;
    let isOver = false;
    const play = async (): Promise<void> => {
      await turn();
      if (!isOver) handler.onHead?.(script.status ?? 200, { 'content-type': script.type });
      for (const piece of script.pieces) {
        if (isOver) return;
        this.written += 1;
        handler.onData?.(Buffer.from(piece));
        await turn();
      }
      if (!isOver) handler.onEnd?.();
      isOver = true;
    };
    void play();
    return {
      begun: true,
      pause: () => undefined,
      resume: () => undefined,
      abort: (reason) => {
        if (isOver) return;
        isOver = true;
        handler.onBroken?.(reason);
      },
    };
  }

  private async prepare(): Promise<void> {
    const { application } = this.gateway.service;
    const credentials = application.get(CredentialEditor, { strict: false });
    const editor = new CatalogueEditor();
    const baseUrl = 'http://127.0.0.1:9';
    const pool = {
      accessToken: 'token-of-the-proof',
      refreshToken: 'none',
      expiresAt: Date.now() + 3_600_000,
    };
    const oauth = { oauth: { token_url: `${baseUrl}/token`, client_id: 'proof' } };
    const signing = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret-of-the-proof' };
    const suppliers = [
      ['chat', 'openai-style', 'bearer', 'key-of-the-proof', { profile: 'openai' }],
      ['messages', 'messages-style', 'header', 'key-of-the-proof', {}],
      ['gemini', 'gemini', 'header', 'key-of-the-proof', {}],
      ['bedrock', 'bedrock', 'sigv4', signing, {}],
      ['native', 'native-oauth', 'oauth-pool', pool, oauth],
      ['rerank', 'cohere-rerank', 'bearer', 'key-of-the-proof', {}],
    ] as const;
    await application.get(Database).transaction(async (tx) => {
      for (const [name, style, kind, secret, settings] of suppliers) {
        const { id: providerId } = await editor.upsertProvider(tx, { name, style, baseUrl, settings });
        await credentials.put(tx, { providerId, label: 'one', kind, secret });
        if (name === 'rerank') continue;
        const model = `on-${name}`;
        const limits = { contextTokens: 200_000, maxOutputTokens: 8_000 };
        await editor.upsertModel(tx, { name: model, kind: 'chat', ownedBy: 'proof', ...limits });
        await editor.setLanes(tx, model, [{ provider: name, upstreamModel: 'upstream/m', region: 'eu' }]);
        const rates = priceRates({ input: parseUsdPerMillion('0.01'), output: parseUsdPerMillion('0.02') });
        await new PriceService().addPrice(tx, { model, source: 'proof', rates });
      }
      for (const kind of ['embedding', 'moderation', 'image', 'rerank', 'transcription', 'speech'] as const) {
        const model = `of-${kind}`;
        await editor.upsertModel(tx, { name: model, kind, ownedBy: 'proof' });
        const provider = kind === 'rerank' ? 'rerank' : 'chat';
        await editor.setLanes(tx, model, [{ provider, upstreamModel: 'upstream/m', region: 'eu' }]);
        const rates =
          kind === 'rerank'
            ? priceRates({ perCallNano: 2_000_000n })
            : priceRates({ input: parseUsdPerMillion('0.01'), output: parseUsdPerMillion('0.02') });
        await new PriceService().addPrice(tx, { model, source: 'proof', rates });
      }
    });
    await application.get(CatalogueService).reload();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
