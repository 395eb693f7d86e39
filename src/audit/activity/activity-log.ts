import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, Optional } from '@nestjs/common';
import { Database, type Tx } from '../../platform';
import { LINE_COLUMNS, type ActivityLineRow } from '../chain/entry-line';
import { SealWitness } from '../chain/seal-witness';
import type { ActionName, LoggedAction } from './action-names';
import type { ActivityActor, ActivityRequest, ActivitySubject, NewActivity } from './activity';
import { boundedText, storedChanges } from './changes';

interface AuditedRequest {
  readonly request: () => ActivityRequest;
  readonly promised: readonly ActionName[];
  readonly written: Map<Tx, Set<LoggedAction>>;
  /** True once a transaction with a declared entry commits, or the handler reports that nothing changed. */
  isSatisfied: boolean;
}

const insertion = `
  INSERT INTO activity (action, actor_kind, actor_user_id, actor_key_id, actor_role, actor_organisation_id, actor_label,
    user_id, organisation_id, department_id, object_type, object_id, object_label, changes, reason, address, request_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
  RETURNING ${LINE_COLUMNS}`;

/** The activity log. An entry is written in the transaction of its change, so that neither exists without the other. */
@Injectable()
export class ActivityLog {
  private readonly running = new AsyncLocalStorage<AuditedRequest>();

  /** A command has no witness, because it ends before its entries are sealed. */
  constructor(
    database: Database,
    @Optional() private readonly witness?: SealWitness,
  ) {
    database.beforeCommit((tx, { withoutActivity }) => {
      if (withoutActivity === undefined) this.requireEntry(tx);
    });
  }

  async write(tx: Tx, entry: NewActivity): Promise<void> {
    if (tx.queryRunner?.isTransactionActive !== true) {
      throw new Error(`The entry ${entry.action} must be written in the transaction of its change.`);
    }
    const audited = this.running.getStore();
    const request = audited?.request();
    const actor = entry.actor ?? request?.actor;
    if (actor === undefined || actor === null) throw new Error(`The entry ${entry.action} has no actor.`);
    const [row] = await tx.query<ActivityLineRow[]>(insertion, valuesOf(entry, actor, request));
    if (row !== undefined) this.witness?.recordWritten(tx, row);
    if (audited === undefined) return;
    const written = audited.written.get(tx) ?? new Set();
    audited.written.set(tx, written.add(entry.action));
  }

  /** Called by a handler that found nothing to change, such as a role that already has its new value. */
  reportNoChange(): void {
    const audited = this.running.getStore();
    if (audited !== undefined) audited.isSatisfied = true;
  }

  /**
   * Runs a request whose changes are audited; without declared actions, no entry is required. A transaction without a
   * declared entry is rolled back, and a handler that ends without one fails.
   */
  async runAudited<Result>(
    request: () => ActivityRequest,
    promised: readonly ActionName[],
    work: () => Promise<Result>,
  ): Promise<Result> {
    const audited: AuditedRequest = {
      request,
      promised,
      written: new Map(),
      isSatisfied: promised.length === 0,
    };
    const result = await this.running.run(audited, work);
    if (!audited.isSatisfied) throw missingEntry(audited);
    return result;
  }

  private requireEntry(tx: Tx): void {
    const audited = this.running.getStore();
    if (audited === undefined || audited.isSatisfied) return;
    const written = audited.written.get(tx);
    if (!audited.promised.some((action) => written?.has(action))) throw missingEntry(audited);
    audited.isSatisfied = true;
  }
}

const missingEntry = ({ promised }: AuditedRequest): Error =>
  new Error(`This change must be put on record as ${promised.join(' or ')} (ActivityLog.write).`);

function valuesOf(entry: NewActivity, actor: ActivityActor, request: ActivityRequest | undefined): unknown[] {
  const { action, object, changes = {}, reason } = entry;
  const concerned: ActivitySubject = entry.concerns ?? (actor.kind === 'system' ? {} : actor);
  const stored = storedChanges(changes);
  return [
    action,
    actor.kind,
    actor.kind === 'system' ? null : actor.userId,
    actor.kind === 'key' ? actor.keyId : null,
    actor.kind === 'user' ? actor.role : null,
    actor.kind === 'system' ? null : actor.organisationId,
    boundedText(actor.label),
    concerned.userId ?? null,
    concerned.organisationId ?? null,
    concerned.departmentId ?? null,
    object.type,
    object.id === undefined ? null : String(object.id),
    object.label === undefined ? null : boundedText(object.label),
    Object.keys(stored).length === 0 ? null : JSON.stringify(stored),
    reasonOf(reason),
    request?.address ?? null,
    request?.requestId ?? null,
  ];
}

/** A blank reason is stored as null. */
function reasonOf(reason: string | null | undefined): string | null {
  const text = reason?.trim() ?? '';
  return text === '' ? null : boundedText(text);
}
