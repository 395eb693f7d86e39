import { Injectable } from '@nestjs/common';
import { CredentialStore, type ProviderView } from '../../catalogue';
import { err, monotonicMs, ok, parseJsonText, type Result } from '../../kernel';
import { AddressGuard, OutgoingClient, type OutgoingRequest, SupplierTransport } from '../../platform';
import { readListedModel, readModelListPage, type VendorListedModel } from '../../vendors';
import { connectionFailure } from '../probe/probe-failure';
import { CallSecrets, judgeErrorResponse, type ListCall, type CoreStyle } from '../suppliers/kit';
import { SupplierStyles } from '../suppliers/registry';

export interface ModelList {
  readonly listed: number;
  readonly models: ReadonlyMap<string, VendorListedModel | null>;
}

const DEADLINE_MS = 15_000;
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const MAX_PAGES = 10;
const MAX_REASON_LENGTH = 500;
/** Statuses with which vendors report an unknown model, or that they do not serve single models. */
const ABSENT_STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 501]);

/** Reads suppliers' lists of models, with the stored secret and the guard that applies to every call. */
@Injectable()
export class ModelLists {
  private readonly client: OutgoingClient;

  constructor(
    transport: SupplierTransport,
    private readonly styles: SupplierStyles,
    private readonly credentials: CredentialStore,
    private readonly guard: AddressGuard,
  ) {
    this.client = new OutgoingClient(transport);
  }

  hasList(provider: ProviderView): boolean {
    if (!this.styles.names.includes(provider.style) || !this.guard.checkBaseUrl(provider.baseUrl).ok)
      return false;
    return (this.styles.of(provider).modelList?.(provider, null) ?? null) !== null;
  }

  /** The error is the message of the supplier or the network. */
  async read(provider: ProviderView, names: readonly string[]): Promise<Result<ModelList, string>> {
    const address = this.guard.checkBaseUrl(provider.baseUrl);
    if (!address.ok) return err(`the address ${address.error}`);
    const style = this.styles.of(provider);
    const { first, pool } = this.credentials.credentialsFor(provider);
    const credential = first ?? pool[0]?.token ?? null;
    if (credential === null && style.needsCredential(provider))
      return err('its secret is missing or unreadable');
    const call = style.modelList?.(provider, credential) ?? null;
    if (call === null) return err('it has no list of models');
    const secrets = new CallSecrets();
    secrets.add(credential, { ...call.headers });
    try {
      const egress = this.credentials.egressOf(provider);
      const reader = new ModelListReader(this.client, style, { ...call, egress }, secrets);
      return ok(await reader.readAll(names));
    } catch (error) {
      const message = error instanceof ModelListRefused ? error.message : connectionFailure(error).message;
      return err(oneLine(secrets.redactText(message)));
    }
  }
}

class ModelListRefused extends Error {}

/** Reads one list once, within one deadline for all its requests. */
class ModelListReader {
  private readonly endsAt = monotonicMs() + DEADLINE_MS;

  constructor(
    private readonly client: OutgoingClient,
    private readonly style: CoreStyle,
    private readonly call: ListCall & Pick<OutgoingRequest, 'egress'>,
    private readonly secrets: CallSecrets,
  ) {}

  async readAll(names: readonly string[]): Promise<ModelList> {
    const listed = await this.readList();
    const models = new Map<string, VendorListedModel | null>();
    // An alias is not listed, but can be requested individually.
    for (const name of new Set(names)) models.set(name, listed.get(name) ?? (await this.readModel(name)));
    return { listed: listed.size, models };
  }

  private async readList(): Promise<ReadonlyMap<string, VendorListedModel>> {
    const models = new Map<string, VendorListedModel>();
    const url = new URL(this.call.url);
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const { status, body } = await this.get(url);
      const listPage = status === 200 ? readModelListPage(body) : null;
      if (listPage === null) throw new ModelListRefused(`it answered ${status} without a list of models`);
      for (const model of listPage.models) models.set(model.id, model);
      if (listPage.after === null || url.searchParams.get('after_id') === listPage.after) return models;
      url.searchParams.set('after_id', listPage.after);
    }
    return models;
  }

  private async readModel(name: string): Promise<VendorListedModel | null> {
    const url = new URL(this.call.url);
    url.pathname += `/${encodeURIComponent(name)}`;
    url.search = '';
    const { status, body } = await this.get(url, ABSENT_STATUSES);
    return ABSENT_STATUSES.has(status) ? null : readListedModel(body);
  }

  private async get(
    url: URL,
    expected: ReadonlySet<number> = new Set(),
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const deadlineMs = Math.max(1, Math.ceil(this.endsAt - monotonicMs()));
    const response = await this.client.read(
      { url: url.href, headers: this.call.headers, egress: this.call.egress },
      { mostBytes: MAX_RESPONSE_BYTES, deadlineMs },
    );
    const { status } = response;
    if (status >= 400 && !expected.has(status)) {
      const { message } = judgeErrorResponse(this.style, response, this.secrets);
      throw new ModelListRefused(`it answered ${status}${message === '' ? '' : `: ${message}`}`);
    }
    return { status, body: jsonIn(response.body) };
  }
}

/** Replaces control characters, since suppliers' messages are printed on terminals too. */
const oneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_REASON_LENGTH);

function jsonIn(body: Buffer): unknown {
  try {
    return parseJsonText(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
