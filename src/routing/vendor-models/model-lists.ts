import { Injectable } from '@nestjs/common';
import { CredentialStore, type ProviderView } from '../../catalogue';
import { err, monotonicMs, ok, parseJsonText, type Result } from '../../kernel';
import { AddressGuard, OutgoingClient, type OutgoingRequest, SupplierTransport } from '../../platform';
import { readToldModel, readToldPage, type ToldModel } from '../../vendors';
import { connectionFailure } from '../probe/probe-failure';
import { CallSecrets, judgeAnswer, type ListCall, type SupplierStyle } from '../suppliers/kit';
import { SupplierStyles } from '../suppliers/registry';

/** A vendor says this of the models that were asked for: null where it has none of that name. */
export interface ToldList {
  readonly listed: number;
  readonly models: ReadonlyMap<string, ToldModel | null>;
}

const DEADLINE_MS = 15_000;
const LARGEST_ANSWER = 4 * 1024 * 1024;
const MOST_PAGES = 10;
const LONGEST_REASON = 500;
/** Vendors say with these that there is no such model, or that they do not serve single models. */
const ABSENT: ReadonlySet<number> = new Set([400, 404, 405, 501]);

/** Reads suppliers' own lists of models, with the stored secret and by the guard of every call to them. */
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

  /** A provider has a list whose names are those of lanes. */
  hasList(provider: ProviderView): boolean {
    if (!this.styles.names.includes(provider.style) || !this.guard.checkBaseUrl(provider.baseUrl).ok)
      return false;
    return (this.styles.of(provider).modelList?.(provider, null) ?? null) !== null;
  }

  /** A reason in the words of the supplier or the network where there is no list. */
  async read(provider: ProviderView, wanted: readonly string[]): Promise<Result<ToldList, string>> {
    const address = this.guard.checkBaseUrl(provider.baseUrl);
    if (!address.ok) return err(`the address ${address.error}`);
    const style = this.styles.of(provider);
    const { first, pool } = this.credentials.at(provider);
    const credential = first ?? pool[0]?.token ?? null;
    if (credential === null && style.needsCredential(provider))
      return err('its secret is missing or unreadable');
    const call = style.modelList?.(provider, credential) ?? null;
    if (call === null) return err('it has no list of models');
    const secrets = new CallSecrets();
    secrets.add(credential, { ...call.headers });
    try {
      const egress = this.credentials.egressOf(provider);
      const reading = new Reading(this.client, style, { ...call, egress }, secrets);
      return ok(await reading.all(wanted));
    } catch (error) {
      const told = error instanceof Refused ? error.message : connectionFailure(error).message;
      return err(oneLine(secrets.blankedText(told)));
    }
  }
}

class Refused extends Error {}

/** Reads one list once, all of it within one deadline. */
class Reading {
  private readonly endsAt = monotonicMs() + DEADLINE_MS;

  constructor(
    private readonly client: OutgoingClient,
    private readonly style: SupplierStyle,
    private readonly call: ListCall & Pick<OutgoingRequest, 'egress'>,
    private readonly secrets: CallSecrets,
  ) {}

  async all(wanted: readonly string[]): Promise<ToldList> {
    const listed = await this.list();
    const models = new Map<string, ToldModel | null>();
    // A name that is an alias is not listed, and yet it is served.
    for (const name of new Set(wanted)) models.set(name, listed.get(name) ?? (await this.one(name)));
    return { listed: listed.size, models };
  }

  private async list(): Promise<ReadonlyMap<string, ToldModel>> {
    const models = new Map<string, ToldModel>();
    const url = new URL(this.call.url);
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const { status, body } = await this.ask(url);
      const told = status === 200 ? readToldPage(body) : null;
      if (told === null) throw new Refused(`it answered ${status} without a list of models`);
      for (const model of told.models) models.set(model.id, model);
      if (told.after === null || url.searchParams.get('after_id') === told.after) return models;
      url.searchParams.set('after_id', told.after);
    }
    return models;
  }

  private async one(name: string): Promise<ToldModel | null> {
    const url = new URL(this.call.url);
    url.pathname += `/${encodeURIComponent(name)}`;
    url.search = '';
    const { status, body } = await this.ask(url, ABSENT);
    return ABSENT.has(status) ? null : readToldModel(body);
  }

  private async ask(
    url: URL,
    expected: ReadonlySet<number> = new Set(),
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const deadlineMs = Math.max(1, Math.ceil(this.endsAt - monotonicMs()));
    const answer = await this.client.read(
      { url: url.href, headers: this.call.headers, egress: this.call.egress },
      { mostBytes: LARGEST_ANSWER, deadlineMs },
    );
    const { status } = answer;
    if (status >= 400 && !expected.has(status)) {
      const { message } = judgeAnswer(this.style, answer, this.secrets);
      throw new Refused(`it answered ${status}${message === '' ? '' : `: ${message}`}`);
    }
    return { status, body: jsonIn(answer.body) };
  }
}

/** A supplier's words are printed on terminals too. */
const oneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, LONGEST_REASON);

function jsonIn(body: Buffer): unknown {
  try {
    return parseJsonText(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
