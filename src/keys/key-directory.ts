import { hash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Attribution } from '../audit';
import { limitRefs } from '../billing';
import { PayerService, type Standing } from '../identity';
import { type Fault, fault, fromUnknown, monotonicMs } from '../kernel';
import { Database, Settings } from '../platform';
import type { KeyKind, KeyStatus } from './api-key.entity';
import type { Caller } from './caller';
import { hashKey, publicIdOf } from './key-text';

interface KeyRow {
  id: number;
  public_id: string;
  secret_hash: Buffer;
  kind: KeyKind;
  name: string;
  status: KeyStatus;
  user_id: number | null;
  organisation_id: number | null;
  department_id: number | null;
  project_id: number | null;
  allowed_models: string[] | null;
  allowed_regions: string[] | null;
  rate_limit_rpm: number | null;
  expires_at: Date | null;
}

type Verdict = Caller | Fault;

interface Cached {
  readonly verdict: Verdict;
  readonly until: number;
}

const CACHE_ENTRIES = 50_000;
/** A change of a key is refused everywhere within a second, so nothing is believed for longer than half of one. */
const BELIEVED_MS = 500;
const nobody = Buffer.alloc(32);

/** Turns the text of a key into its caller. What could not be checked is never called invalid. */
@Injectable()
export class KeyDirectory {
  private readonly cache = new Map<string, Cached>();
  private readonly loading = new Map<string, Promise<Verdict>>();

  constructor(
    private readonly database: Database,
    private readonly payers: PayerService,
    private readonly settings: Settings,
  ) {}

  /** Answers at once while the key is known, else after one look-up. Throws the refusal. */
  authenticate(text: string): Caller | Promise<Caller> {
    const publicId = publicIdOf(text);
    if (publicId === null) throw fault('invalid_api_key');
    // The cache is keyed by a hash of the whole key: two keys with a common beginning never share an identity,
    // and the memory of the process holds no list of secrets.
    const fingerprint = hash('sha256', text, 'base64');
    const known = this.cache.get(fingerprint);
    if (known !== undefined && known.until > monotonicMs()) return accept(known.verdict);
    return this.load(fingerprint, publicId, text).then(accept);
  }

  private load(fingerprint: string, publicId: string, text: string): Promise<Verdict> {
    let pending = this.loading.get(fingerprint);
    if (pending === undefined) {
      pending = this.look(publicId, text)
        .then((verdict) => {
          this.remember(fingerprint, verdict);
          return verdict;
        })
        .finally(() => this.loading.delete(fingerprint));
      this.loading.set(fingerprint, pending);
    }
    return pending;
  }

  private remember(fingerprint: string, verdict: Verdict): void {
    if (this.cache.size >= CACHE_ENTRIES) {
      const oldest = this.cache.keys().next();
      if (!oldest.done) this.cache.delete(oldest.value);
    }
    this.cache.delete(fingerprint);
    this.cache.set(fingerprint, { verdict, until: monotonicMs() + BELIEVED_MS });
  }

  private async look(publicId: string, text: string): Promise<Verdict> {
    try {
      const [row] = await this.database.query<KeyRow>('SELECT * FROM api_key WHERE public_id = $1', [
        publicId,
      ]);
      // The hash is computed and compared for an unknown key too, so that both refusals take as long.
      const given = hashKey(this.settings.keyPepper, text);
      const same = timingSafeEqual(given, row?.secret_hash ?? nobody);
      if (row === undefined || !same) return fault('invalid_api_key');
      if (row.status !== 'active')
        return fault('invalid_api_key', { message: `This API key is ${row.status}.` });
      const standing = await this.payers.standingOf({
        userId: row.user_id,
        organisationId: row.organisation_id,
        departmentId: row.department_id,
        projectId: row.project_id,
      });
      return refusalOf(standing) ?? toCaller(row, standing);
    } catch (error) {
      throw fault('auth_unavailable', { cause: fromUnknown(error) });
    }
  }
}

function accept(verdict: Verdict): Caller {
  if (verdict instanceof Error) throw verdict;
  if (verdict.expiresAt !== null && verdict.expiresAt <= Date.now()) throw fault('expired_api_key');
  return verdict;
}

function refusalOf(standing: Standing): Fault | null {
  const status = standing.userStatus;
  if (status === null || status === 'active' || status === 'pending_verification') return null;
  return fault('account_status', { message: `The account this key belongs to is ${status}.` });
}

function toCaller(row: KeyRow, standing: Standing): Caller {
  const attribution: Attribution = {
    keyId: row.id,
    userId: standing.userId,
    organisationId: standing.organisationId,
    departmentId: standing.departmentId,
    projectId: standing.projectId,
    walletId: standing.billingExempt ? null : standing.payerUserId,
  };
  return {
    keyId: row.id,
    publicId: row.public_id,
    name: row.name,
    kind: row.kind,
    allowedModels: row.allowed_models === null ? null : new Set(row.allowed_models),
    allowedRegions: intersection(row.allowed_regions, standing.organisationRegions),
    rateLimitRpm: row.rate_limit_rpm,
    expiresAt: row.expires_at?.getTime() ?? null,
    attribution,
    limits: limitRefs(attribution),
  };
}

function intersection(
  left: readonly string[] | null,
  right: readonly string[] | null,
): ReadonlySet<string> | null {
  if (left === null) return right === null ? null : new Set(right);
  return new Set(right === null ? left : left.filter((region) => right.includes(region)));
}
