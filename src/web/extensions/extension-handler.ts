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
import { Done } from '../routes/done';
import { viewScope } from '../view-scope';
import { extensionOf } from './owners';

export const routeMetadata = 'switchboard:extension-route';

/** What a route of an extension says of itself, beside its kind. */
export interface ExtensionRoute {
  readonly view?: string;
  readonly audit?: string;
  /** Whatever its handler answers is JSON. */
  readonly isJson?: true;
}

const DEADLINE_MS = 30 * SECOND_MS;

/** What a change of an extension came to. */
export class ExtensionDone extends Done {
  constructor(
    to: string,
    facts: object,
    readonly outcome: Outcome,
  ) {
    super(to, facts, undefined);
  }
}

/** Runs a handler of an extension: within a deadline, with its reader, its texts and its entry in the activity log. */
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
    const { audit, isJson } = this.reflector.get<ExtensionRoute>(routeMetadata, context.getHandler());
    if (request.actor !== undefined) request.reader = this.readerOf(extension, request);
    const work = () => lastValueFrom(next.handle(), { defaultValue: undefined });
    const answer = this.carryOut(extension, audit, request, work);
    if (isJson !== true) return from(answer);
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return from(answer.then((value) => jsonOf(value, response)));
  }

  private async carryOut(
    extension: string,
    audit: string | undefined,
    request: HttpRequest,
    work: () => Promise<unknown>,
  ): Promise<unknown> {
    try {
      const answer = await withDeadline(DEADLINE_MS, work());
      const record = answer instanceof ExtensionDone ? answer.outcome.record : {};
      if (audit !== undefined && record !== null)
        await this.record(extension, `ext.${extension}.${audit}`, record, request);
      return answer instanceof ExtensionDone ? answeredBy(extension, answer) : answer;
    } catch (error) {
      throw reasonOf(extension, error);
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
        changes: changesIn(changes),
        ...(isNamed ? {} : { actor: systemActor(`extension ${extension}`) }),
      }),
    );
  }
}

/** A text, a number or nothing would be sent as HTML, and a browser would run what is in it. */
function jsonOf(answer: unknown, response: ServerResponse): unknown {
  if (typeof answer === 'object' && answer !== null) return answer;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  return JSON.stringify(answer ?? null);
}

/** The text that people are told is one of the extension. */
function answeredBy(extension: string, { to, facts, outcome }: ExtensionDone): Done {
  const { told, values, tone = 'ok' } = outcome;
  const notice = { tone, text: `ext.${extension}.${told}`, ...(values && { values }) };
  return new Done(to, facts, told === undefined ? undefined : notice);
}

/** The reason that a refusal names is found among the texts of the extension. */
function reasonOf(extension: string, error: unknown): unknown {
  const reason = error instanceof Fault ? error.options.details?.['reasonOfExtension'] : undefined;
  if (!(error instanceof Fault) || typeof reason !== 'string') return error;
  const { reasonOfExtension: _, ...values } = error.options.details ?? {};
  const details = { ...values, reason: `ext.${extension}.refused.${reason}` };
  return fault(error.code, { ...error.options, details });
}

/** What JavaScript from elsewhere says is read with care: pairs of plain values, and no others. */
function changesIn(changes: ChangeRecord['changes'] = {}): Changes {
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
