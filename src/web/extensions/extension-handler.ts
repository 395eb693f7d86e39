import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { from, lastValueFrom, type Observable } from 'rxjs';
import type { ChangeRecord, Outcome, PlainValue, Reader } from '../../../packages/extension/src/pages';
import { ActivityLog, type Changes, systemActor } from '../../audit';
import { Fault, fault, SECOND_MS, withDeadline } from '../../kernel';
import { Database } from '../../platform';
import { type HttpRequest, requestOf } from '../http-request';
import { PageRenderer } from '../pages/page-renderer';
import { ActionResult } from '../routes/action-result';
import { viewScope } from '../view-scope';
import { extensionOf } from './controller-owners';

export const routeMetadata = 'switchboard:extension-route';

export interface ExtensionRouteMetadata {
  readonly view?: string;
  readonly audit?: string;
  /** Every result of the handler is sent as JSON. */
  readonly isJson?: true;
}

const DEADLINE_MS = 30 * SECOND_MS;

export class ExtensionDone extends ActionResult {
  constructor(
    to: string,
    body: object,
    readonly outcome: Outcome,
  ) {
    super(to, body, undefined);
  }
}

@Injectable()
export class ExtensionHandler implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly pages: PageRenderer,
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const extension = extensionOf(context.getClass());
    if (extension === undefined) throw new Error('the controller belongs to no extension');
    const request = requestOf(context);
    const { audit, isJson } = this.reflector.get<ExtensionRouteMetadata>(routeMetadata, context.getHandler());
    if (request.actor !== undefined) request.reader = this.readerOf(extension, request);
    const work = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    const result = this.run(extension, audit, request, work);
    if (isJson !== true) return from(result);
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return from(result.then((value) => toJson(value, response)));
  }

  private async run(
    extension: string,
    audit: string | undefined,
    request: HttpRequest,
    work: () => Promise<unknown>,
  ): Promise<unknown> {
    try {
      const result = await withDeadline(DEADLINE_MS, work());
      const record = result instanceof ExtensionDone ? result.outcome.record : {};
      if (audit !== undefined && record !== null)
        await this.record(extension, `ext.${extension}.${audit}`, record, request);
      return result instanceof ExtensionDone ? withOwnNotice(extension, result) : result;
    } catch (error) {
      throw withOwnReason(extension, error);
    }
  }

  private readerOf(extension: string, request: HttpRequest): Reader | undefined {
    const { actor } = request;
    if (actor === undefined) return undefined;
    const { userId: id, displayName, email, role, organisationId, departmentId } = actor;
    return {
      id,
      name: displayName === '' ? email : displayName,
      email,
      role,
      organisationId,
      departmentId,
      scope: viewScope(request),
      language: this.pages.localeOf(request),
      timeZone: this.pages.timeZoneOf(request),
      text: this.pages.textsFor(request, extension),
    };
  }

  private async record(
    extension: string,
    action: `ext.${string}`,
    { id, label, changes }: ChangeRecord = {},
    { actor, caller }: HttpRequest,
  ): Promise<void> {
    const isNamed = actor !== undefined || caller !== undefined;
    await this.database.transaction((tx) =>
      this.activity.write(tx, {
        action,
        object: {
          type: 'extension',
          ...(id === undefined ? {} : { id: String(id) }),
          label: label === undefined ? extension : String(label),
        },
        changes: plainChanges(changes),
        ...(isNamed ? {} : { actor: systemActor(`extension ${extension}`) }),
      }),
    );
  }
}

/** Text, numbers and nothing are serialised, because Nest would send them as HTML that a browser executes. */
function toJson(result: unknown, response: ServerResponse): unknown {
  if (typeof result === 'object' && result !== null) return result;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  return JSON.stringify(result ?? null);
}

function withOwnNotice(extension: string, { to, body, outcome }: ExtensionDone): ActionResult {
  const { told, values, tone = 'ok' } = outcome;
  const notice = { tone, text: `ext.${extension}.${told}`, ...(values && { values }) };
  return new ActionResult(to, body, told === undefined ? undefined : notice);
}

function withOwnReason(extension: string, error: unknown): unknown {
  const reason = error instanceof Fault ? error.options.details?.['reasonOfExtension'] : undefined;
  if (!(error instanceof Fault) || typeof reason !== 'string') return error;
  const { reasonOfExtension: _, ...values } = error.options.details ?? {};
  const details = { ...values, reason: `ext.${extension}.refused.${reason}` };
  return fault(error.code, { ...error.options, details });
}

/** Extension code is untrusted: only pairs of plain values are logged. */
function plainChanges(changes: ChangeRecord['changes'] = {}): Changes {
  const plain = (value: unknown): PlainValue =>
    value === null || ['string', 'number', 'boolean'].includes(typeof value)
      ? (value as PlainValue)
      : (JSON.stringify(value) ?? null);
  return Object.fromEntries(
    Object.entries(changes).flatMap(([name, pair]: [string, unknown]) =>
      Array.isArray(pair) ? [[name, [plain(pair[0]), plain(pair[1])] as const]] : [],
    ),
  );
}
