import { hash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import type { Attribution } from '../audit';
import { type LimitRef, limitRefs } from '../billing';
import { isInUse, PayerService, type Standing } from '../identity';
import { type Fault, fault, fromUnknown, regionsNamed, withDeadline } from '../kernel';
import { Database, Notifications, OwnWrites, RevisionWatch, type Row, Settings } from '../platform';
import type { Caller } from './caller';
import { KeyCache, type KeyVerdict } from './key-cache';
import { type KeyChange, readKeyChange } from './key-change';
import { hashKey, KEY_LENGTH, publicIdOf } from './key-text';
import { holdPepper } from './pepper';

type KeyRow = Row<'api_key'> & {
  /** The ids of what each model's budget is counted at. */
  readonly modelBudgets: Readonly<Record<string, number>> | null;
};

const KEY = `SELECT k.*, (SELECT jsonb_object_agg(m.model, m.id) FROM key_model m WHERE m.key_id = k.id) AS model_budgets
  FROM api_key k`;

/** A copy without confirmation for this long is not trusted: the database is asked for each key. */
const CONFIRMED_MS = 2_000;
const LOOK_UP_DEADLINE_MS = 2_000;

/** Resolves the text of a key to its caller. A key that could not be checked is never called invalid. */
@Injectable()
export class KeyDirectory implements OnModuleInit, BeforeApplicationShutdown {
  private readonly cache = new KeyCache();
  /** An entry is released with its connection. */
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
    writes.add(() => this.watch.caughtUp());
    this.watch = new RevisionWatch(database, notifications, {
      subject: 'The register of keys',
      channel: 'keys',
      table: 'key_revision',
      onChange: (change) => this.forget(readKeyChange(change)),
    });
  }

  async onModuleInit(): Promise<void> {
    await holdPepper(this.database, this.settings);
    await this.watch.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.watch.stop();
  }

  /**
   * Returns at once for a cached key, else after one look-up. Throws the refusal. `connection` identifies the
   * connection: a repeated key on it is not hashed again.
   */
  authenticate(text: string, connection?: object): Caller | Promise<Caller> {
    if (text.length !== KEY_LENGTH) throw fault('invalid_api_key');
    const fingerprint = this.fingerprintOf(text, connection);
    const known = this.watch.confirmedWithin(CONFIRMED_MS) ? this.cache.get(fingerprint) : undefined;
    if (known !== undefined) return this.accept(known);
    const publicId = publicIdOf(text);
    if (publicId === null) throw fault('invalid_api_key');
    return this.load(fingerprint, publicId, text).then((verdict) => this.accept(verdict));
  }

  /** A key that was let in may no longer go on for this reason; null when it may. */
  async refusalOf(keyId: number): Promise<Fault | null> {
    const [row] = await this.database.rows<KeyRow>(`${KEY} WHERE k.id = $1`, [keyId]);
    if (row === undefined) return fault('invalid_api_key');
    const verdict = await this.judge(row, null);
    if (verdict instanceof Error) return verdict;
    return this.isPast(verdict.caller.expiresAt) ? fault('expired_api_key') : null;
  }

  /** The caller that a key of the service's own stands for: a part of the service that holds the row has no text. */
  async callerOf(keyId: number): Promise<Caller> {
    const [row] = await this.database.rows<KeyRow>(`${KEY} WHERE k.id = $1`, [keyId]);
    if (row === undefined) throw fault('invalid_api_key');
    return this.accept(await this.judge(row, null));
  }

  /** Other nodes learn of a change by announcement; the node that made it calls this directly. */
  forget(change: KeyChange | null): void {
    this.cache.forget(change);
    // A look-up in flight may predate the change: no call joins it, and its result is not cached.
    this.loading.clear();
    for (const listener of this.listeners) listener(change);
  }

  /** Registers a listener for changed keys; null when any key may have changed. */
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

  /** The database's clock decides, so that a key expires on every node at once. */
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
    const underWay = this.loading.get(fingerprint);
    if (underWay !== undefined) return underWay;
    const reading = withDeadline(LOOK_UP_DEADLINE_MS, this.lookUp(publicId, text))
      .then((verdict) => {
        if (this.loading.get(fingerprint) === reading) this.cache.put(fingerprint, verdict);
        return verdict;
      })
      .catch((error: unknown) => {
        throw fault('auth_unavailable', { cause: fromUnknown(error) });
      })
      .finally(() => {
        if (this.loading.get(fingerprint) === reading) this.loading.delete(fingerprint);
      });
    this.loading.set(fingerprint, reading);
    return reading;
  }

  private async lookUp(publicId: string, text: string): Promise<KeyVerdict> {
    const given = hashKey(this.settings.keyPepper, text);
    // The database compares the peppered hash, so that an unknown key and a wrong secret are the same empty answer.
    const [row] = await this.database.rows<KeyRow>(
      `${KEY} WHERE k.public_id = $1 AND $2 IN (k.secret_hash, k.previous_hash)`,
      [publicId, given],
    );
    if (row === undefined) return fault('invalid_api_key');
    return this.judge(row, given.equals(row.secretHash) ? null : (row.previousUntil?.getTime() ?? 0));
  }

  private async judge(row: KeyRow, secretUntil: number | null): Promise<KeyVerdict> {
    if (row.status !== 'active')
      return fault('invalid_api_key', { message: `This API key is ${row.status}.` });
    const standing = await this.payers.standingOf(row);
    const refusal = refusalOf(standing);
    return refusal ?? { caller: toCaller(row, standing, this.settings.keyRateLimitRpm), secretUntil };
  }
}

function refusalOf(standing: Standing): Fault | null {
  const status = standing.userStatus;
  if (status === null || isInUse(status)) return null;
  return fault('account_status', { message: `The account this key belongs to is ${status}.` });
}

function toCaller(row: KeyRow, standing: Standing, usualRpm: number): Caller {
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
    allowedRegions: sharedRegions(row.allowedRegions, standing.organisationRegions),
    rateLimitRpm: row.rateLimitRpm ?? usualRpm,
    rateLimitTpm: row.rateLimitTpm,
    maxParallel: row.maxParallel,
    // The chat of the portal shows which model of the catalogue answered.
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

export function sharedRegions(
  left: readonly string[] | null,
  right: readonly string[] | null,
): ReadonlySet<string> | null {
  if (left === null) return right === null ? null : new Set(regionsNamed(right));
  const others = right === null ? null : new Set(regionsNamed(right));
  return new Set(regionsNamed(left).filter((region) => others?.has(region) ?? true));
}
