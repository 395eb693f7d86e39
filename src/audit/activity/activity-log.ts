import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, Optional } from '@nestjs/common';
import { Database, type Tx } from '../../platform';
import { LINE_COLUMNS, type LineRow } from '../chain/entry-line';
import { SealWitness } from '../chain/seal-witness';
import type { ActionName, LoggedAction } from './action-names';
import type { ActivityActor, ActivityRequest, Concerned, NewActivity } from './activity';
import { boundedText, storedChanges } from './changes';

/** A request whose handler declared these audited actions. */
interface AuditedRequest {
  readonly request: () => ActivityRequest;
  readonly promised: readonly ActionName[];
  readonly written: Map<Tx, Set<LoggedAction>>;
  /** It is set once a transaction with a promised entry commits, or the handler says that nothing changed. */
  kept: boolean;
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

  /** A command ends before its entries are sealed, and so goes without the witness. */
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
    const [row] = await tx.query<LineRow[]>(insertion, valuesOf(entry, actor, request));
    if (row !== undefined) this.witness?.wrote(tx, row);
    if (audited === undefined) return;
    const written = audited.written.get(tx) ?? new Set();
    audited.written.set(tx, written.add(entry.action));
  }

  /** Called by a handler that found nothing to change, such as a role that is set to its present value. */
  nothingChanged(): void {
    const audited = this.running.getStore();
    if (audited !== undefined) audited.kept = true;
  }

  /**
   * Runs a request whose changes are audited. A transaction without a declared entry is rolled back, and a handler
   * that ends without one fails. Without declared actions, entries know the request and none is required.
   */
  async during<Result>(
    request: () => ActivityRequest,
    promised: readonly ActionName[],
    work: () => Promise<Result>,
  ): Promise<Result> {
    const audited: AuditedRequest = { request, promised, written: new Map(), kept: promised.length === 0 };
    const result = await this.running.run(audited, work);
    if (!audited.kept) throw missingEntry(audited);
    return result;
  }

  private requireEntry(tx: Tx): void {
    const audited = this.running.getStore();
    if (audited === undefined || audited.kept) return;
    const written = audited.written.get(tx);
    if (!audited.promised.some((action) => written?.has(action))) throw missingEntry(audited);
    audited.kept = true;
  }
}

const missingEntry = ({ promised }: AuditedRequest): Error =>
  new Error(`This change must be put on record as ${promised.join(' or ')} (ActivityLog.write).`);

function valuesOf(entry: NewActivity, actor: ActivityActor, request: ActivityRequest | undefined): unknown[] {
  const { action, object, changes = {}, reason } = entry;
  const concerned: Concerned = entry.concerns ?? (actor.kind === 'system' ? {} : actor);
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

/** A request may say null for no reason. */
function reasonOf(reason: string | null | undefined): string | null {
  const text = reason?.trim() ?? '';
  return text === '' ? null : boundedText(text);
}
