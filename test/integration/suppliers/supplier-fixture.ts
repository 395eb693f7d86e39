import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CredentialEditor,
  CredentialStore,
  ProviderCredential,
  type LaneView,
  type ProviderView,
  TokenEvents,
} from '#product/catalogue';
import type { CatalogueSnapshot } from '../../../src/catalogue/snapshot';
import { printedJsonObject } from '#product/kernel';
import { AddressGuard, MasterKeys, SecretBox, WireTransport } from '#product/platform';
import { TokenPool } from '#inside/routing/suppliers/native-oauth/token-pool';
import { SupplierStyles } from '#inside/routing/suppliers/registry';
import { SupplierClient, type SupplierCallInput } from '#inside/routing/suppliers/supplier-client';
import { laneFacts } from '#product/vendors';
import type { CatalogueFixture } from '../catalogue/catalogue-fixture';

const box = new SecretBox(MasterKeys.parse('a-master-key'));

/** A node with its own credential store and supplier connections. */
export class SupplierFixture {
  readonly editor = new CredentialEditor(box);
  readonly events: TokenEvents;
  readonly store: CredentialStore;
  readonly pools: WireTransport;
  readonly tokens: TokenPool;
  readonly client: SupplierClient;
  private readonly followers: ((snapshot: CatalogueSnapshot) => Promise<void>)[] = [];

  constructor(readonly catalogue: CatalogueFixture) {
    const { database } = catalogue;
    const follow = (follower: (snapshot: CatalogueSnapshot) => Promise<void>) =>
      this.followers.push(follower);
    this.store = new CredentialStore(database.source.getRepository(ProviderCredential), box, { follow });
    this.events = new TokenEvents(database);
    this.pools = new WireTransport(
      {
        supplierConnections: 8,
        supplierRestMs: 0,
        supplierConnectTimeoutMs: 1_000,
        supplierFirstByteTimeoutMs: 5_000,
        supplierIdleTimeoutMs: 5_000,
        supplierTotalTimeoutMs: 10_000,
      },
      new AddressGuard([{ address: '127.0.0.1', prefix: 32, family: 'ipv4' }]),
    );
    this.tokens = new TokenPool(this.store, this.events, this.pools);
    this.client = new SupplierClient(this.pools, new SupplierStyles(), this.store, this.tokens);
  }

  /** Applies the catalogue, as an announcement would. */
  async reload(): Promise<void> {
    for (const follow of this.followers) await follow(await this.catalogue.snapshot());
  }

  async provider(name: string, style: string, baseUrl: string, settings = {}): Promise<ProviderView> {
    const { id } = await this.catalogue.write((tx) =>
      this.catalogue.editor.upsertProvider(tx, { name, style, baseUrl, settings }),
    );
    const { providers } = await this.catalogue.snapshot();
    return providers.find((provider) => provider.id === id)!;
  }

  async close(): Promise<void> {
    await this.tokens.onApplicationShutdown();
    this.pools.close();
  }
}

const laneOf = (provider: ProviderView, upstreamModel = 'sim-large'): LaneView => ({
  id: 1,
  provider,
  upstreamModel,
  region: 'local',
  priority: 0,
  weight: 1,
  retries: 0,
  facts: laneFacts(upstreamModel, {}),
  wire: null,
});

export const callTo = (
  provider: ProviderView,
  operation: SupplierCallInput['operation'],
  body: Record<string, unknown>,
): SupplierCallInput => ({
  operation,
  wire: new SupplierStyles().dialectFor(provider, operation) ?? 'chat',
  lane: laneOf(provider),
  body: { kind: 'json', text: printedJsonObject(body) },
  stream: body.stream === true,
  headers: {},
  sessionKey: null,
});

export interface FakeServer {
  readonly url: string;
  readonly bodies: string[];
  stop(): Promise<void>;
}

/** Starts a server that answers each request with the result of a function. */
export async function startFakeServer(
  answer: (response: ServerResponse, body: string, request: IncomingMessage) => void,
): Promise<FakeServer> {
  const receivedBodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      receivedBodies.push(body);
      answer(response, body, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}`, bodies: receivedBodies, stop };
}
