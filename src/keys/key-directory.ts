import { hash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Attribution } from '../audit';
import { type LimitRef, limitRefs } from '../billing';
import { isInUse, PayerService, type OwnerStanding } from '../identity';
import { type Fault, fault, fromUnknown, type MaybePromise, normaliseRegions, withDeadline } from '../kernel';
import { Database, Notifications, OwnWrites, RevisionWatch, type TableRow, Settings } from '../platform';
import type { Caller } from './caller';
import { KeyCache, type KeyVerdict } from './key-cache';
import { type KeyChange, readKeyChange } from './key-change';
import { hashKey, KEY_LENGTH, publicIdOf } from './key-text';
import { claimPepper } from './pepper';

type CallerKeyRow = TableRow<'api_key'> & {
  /** Ids of the budgets per model. */
  readonly modelBudgets: Readonly<Record<string, number>> | null;
};

const SELECT_KEY = `SELECT k.*, (SELECT jsonb_object_agg(m.model, m.id) FROM key_model m WHERE m.key_id = k.id) AS model_budgets
  FROM api_key k`;

/** Maximum age of the last confirmation of the cache; after that, the database is queried for each key. */
const MAX_UNCONFIRMED_MS = 2_000;
const LOOKUP_DEADLINE_MS = 2_000;

/** Resolves the text of a key to its caller. A key that could not be checked is never reported as invalid. */
@Injectable()
export class KeyDirectory implements OnModuleInit, BeforeApplicationShutdown {
  private readonly cache = new KeyCache();
  /** An entry is released together with its connection. */
  private readonly lastSeen = new WeakMap<object, { readonly text: string; readonly fingerprint: string }>();
  private readonly loading = new Map<string, Promise<KeyVerdict>>();
  private readonly listeners = new Set<(change: KeyChange | null) => void>();
  private readonly watch: RevisionWatch;

  constructor(
    private readonly database: Database,
    notifications: Notifications,
    private readonly payers: PayerService,
    private readonly settings: Settings,
    writes: OwnWrites,
  ) {
    writes.add(() => this.watch.catchUp());
    this.watch = new RevisionWatch(database, notifications, {
      subject: 'The register of keys',
      channel: 'keys',
      table: 'key_revision',
      onChange: (change) => this.forget(readKeyChange(change)),
    });
  }

  async onModuleInit(): Promise<void> {
    await claimPepper(this.database, this.settings);
    await this.watch.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.watch.stop();
  }

  /**
   * Returns synchronously for a cached key, otherwise after one lookup. Throws the refusal. `connection` identifies the
   * connection, so that a repeated key on it is not hashed again.
   */
  authenticate(text: string, connection?: object): MaybePromise<Caller> {
    if (text.length !== KEY_LENGTH) throw fault('invalid_api_key');
    const fingerprint = this.fingerprintOf(text, connection);
    const cached = this.watch.confirmedWithin(MAX_UNCONFIRMED_MS) ? this.cache.get(fingerprint) : undefined;
    if (cached !== undefined) return this.accept(cached);
    const publicId = publicIdOf(text);
    if (publicId === null) throw fault('invalid_api_key');
    return this.load(fingerprint, publicId, text).then((verdict) => this.accept(verdict));
  }

  /** Returns why an admitted key is no longer allowed to continue; null if it is. */
  async refusalOf(keyId: number): Promise<Fault | null> {
    const [row] = await this.database.rows<CallerKeyRow>(`${SELECT_KEY} WHERE k.id = $1`, [keyId]);
    if (row === undefined) return fault('invalid_api_key');
    const verdict = await this.judge(row, null);
    if (verdict instanceof Error) return verdict;
    return this.isPast(verdict.caller.expiresAt) ? fault('expired_api_key') : null;
  }

  /** Returns the caller of the service's own key, for code that has the row but not the text. */
  async callerOf(keyId: number): Promise<Caller> {
    const [row] = await this.database.rows<CallerKeyRow>(`${SELECT_KEY} WHERE k.id = $1`, [keyId]);
    if (row === undefined) throw fault('invalid_api_key');
    return this.accept(await this.judge(row, null));
  }

  /** Drops cached keys. Other nodes are notified of a change; the node that made it calls this directly. */
  forget(change: KeyChange | null): void {
    this.cache.forget(change);
    // A lookup in flight might predate the change: no call joins it, and its result is not cached.
    this.loading.clear();
    for (const listener of this.listeners) listener(change);
  }

  /** Registers a listener for changed keys; it receives null if any key might have changed. */
  onChange(listener: (change: KeyChange | null) => void): void {
    this.listeners.add(listener);
  }

  private accept(verdict: KeyVerdict): Caller {
    if (verdict instanceof Error) throw verdict;
    if (this.isPast(verdict.secretUntil))
      throw fault('invalid_api_key', { message: 'This API key was replaced by a newer secret.' });
    if (this.isPast(verdict.caller.expiresAt)) throw fault('expired_api_key');
    return verdict.caller;
  }

  /** Uses the database's clock, so that a key expires on every node at the same time. */
  private isPast(instant: number | null): boolean {
    return instant !== null && instant <= this.watch.clock.now();
  }

  private fingerprintOf(text: string, connection: object | undefined): string {
    const last = connection && this.lastSeen.get(connection);
    if (last !== undefined && last.text === text) return last.fingerprint;
    const fingerprint = hash('sha256', text, 'base64');
    if (connection !== undefined) this.lastSeen.set(connection, { text, fingerprint });
    return fingerprint;
  }

  private load(fingerprint: string, publicId: string, text: string): Promise<KeyVerdict> {
    const pending = this.loading.get(fingerprint);
    if (pending !== undefined) return pending;
    const lookup = withDeadline(LOOKUP_DEADLINE_MS, this.lookUp(publicId, text))
      .then((verdict) => {
        if (this.loading.get(fingerprint) === lookup) this.cache.put(fingerprint, verdict);
        return verdict;
      })
      .catch((error: unknown) => {
        throw fault('auth_unavailable', { cause: fromUnknown(error) });
      })
      .finally(() => {
        if (this.loading.get(fingerprint) === lookup) this.loading.delete(fingerprint);
      });
    this.loading.set(fingerprint, lookup);
    return lookup;
  }

  private async lookUp(publicId: string, text: string): Promise<KeyVerdict> {
    const inputHash = hashKey(this.settings.keyPepper, text);
    // The database compares the peppered hash, so that an unknown key and a wrong secret give the same empty result.
    const [row] = await this.database.rows<CallerKeyRow>(
      `${SELECT_KEY} WHERE k.public_id = $1 AND $2 IN (k.secret_hash, k.previous_hash)`,
      [publicId, inputHash],
    );
    if (row === undefined) return fault('invalid_api_key');
    return this.judge(row, inputHash.equals(row.secretHash) ? null : (row.previousUntil?.getTime() ?? 0));
  }

  private async judge(row: CallerKeyRow, secretUntil: number | null): Promise<KeyVerdict> {
    if (row.status !== 'active')
      return fault('invalid_api_key', { message: `This API key is ${row.status}.` });
    const standing = await this.payers.standingOf(row);
    const refusal = accountRefusal(standing);
    return refusal ?? { caller: toCaller(row, standing, this.settings.keyRateLimitRpm), secretUntil };
  }
}

function accountRefusal(standing: OwnerStanding): Fault | null {
  const status = standing.userStatus;
  if (status === null || isInUse(status)) return null;
  return fault('account_status', { message: `The account this key belongs to is ${status}.` });
}

function toCaller(row: CallerKeyRow, standing: OwnerStanding, defaultRpm: number): Caller {
  const attribution: Attribution = {
    keyId: row.id,
    userId: standing.userId,
    organisationId: standing.organisationId,
    departmentId: standing.departmentId,
    projectId: standing.projectId,
    walletId: standing.chargedAccount,
  };
  const limits = limitRefs(attribution);
  return {
    keyId: row.id,
    publicId: row.publicId,
    name: row.name,
    kind: row.kind,
    allowedModels: row.allowedModels === null ? null : new Set(row.allowedModels),
    allowedRegions: intersectRegions(row.allowedRegions, standing.organisationRegions),
    rateLimitRpm: row.rateLimitRpm ?? defaultRpm,
    rateLimitTpm: row.rateLimitTpm,
    maxParallel: row.maxParallel,
    // The portal's chat shows which model of the catalogue replied.
    answerModel: row.kind === 'webchat' ? 'caller' : row.answerModel,
    continueStreams: row.continueStreams,
    unknownFields: row.unknownFields ?? standing.unknownFields,
    expiresAt: row.expiresAt?.getTime() ?? null,
    attribution,
    payerId: standing.payerUserId,
    payerChain: standing.payerChain,
    billingExempt: standing.billingExempt,
    limits,
    modelLimits: row.modelBudgets === null ? null : limitsByModel(limits, row.modelBudgets),
    priceFactors: standing.priceFactors,
    ...(standing.telemetryContent && { tellsContent: true }),
  };
}

const limitsByModel = (
  limits: readonly LimitRef[],
  budgets: Readonly<Record<string, number>>,
): ReadonlyMap<string, readonly LimitRef[]> =>
  new Map(Object.entries(budgets).map(([model, id]) => [model, [...limits, { kind: 'key_model', id }]]));

export function intersectRegions(
  left: readonly string[] | null,
  right: readonly string[] | null,
): ReadonlySet<string> | null {
  if (left === null) return right === null ? null : new Set(normaliseRegions(right));
  const rightSet = right === null ? null : new Set(normaliseRegions(right));
  return new Set(normaliseRegions(left).filter((region) => rightSet?.has(region) ?? true));
}
