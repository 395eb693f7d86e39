import {
  type ArgumentMetadata,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  HttpException,
  type NestInterceptor,
  type PipeTransform,
  StreamableFile,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { map, type Observable } from 'rxjs';
import type { ChangeRecord, CsvTable, Reader } from '../pages';
import type { Role } from '../navigation';
import type { RequestKey } from '../requests';
import { TestFault } from './errors';
import { FieldIssue } from './fields';
import {
  ACCESS,
  formFields,
  ROUTE,
  TestDone,
  type TestAccess,
  type TestRequest,
  type TestRoute,
} from './parts';

const ROLES: readonly Role[] = [
  'user',
  'department_admin',
  'org_admin',
  'org_owner',
  'platform_admin',
  'platform_owner',
];
const FORM_PAGE_FIELD = '_page';

interface TestResponse {
  statusCode: number;
  setHeader(name: string, value: string): void;
  status(code: number): TestResponse;
  json(body: object): void;
}

/** Sessions and keys of a test host, by the text that a request carries. */
export class Visitors {
  readonly readers = new Map<string, Reader>();
  readonly callers = new Map<string, RequestKey>();
}

const reflector = new Reflector();
const routeOf = (context: ExecutionContext): TestRoute | undefined =>
  reflector.get<TestRoute | undefined>(ROUTE, context.getHandler());

export class TestGuard implements CanActivate {
  constructor(private readonly visitors: Visitors) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<TestRequest>();
    const rule = reflector.getAllAndOverride<TestAccess | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (rule === undefined) throw new TypeError('a route does not say who may call it');
    const { headers } = request;
    if (routeOf(context)?.kind === 'action') verifyOrigin(headers);
    if (rule.kind === 'bearer' || rule.kind === 'either') {
      const [, bearer] = /^Bearer (.+)$/.exec(headers['authorization'] ?? '') ?? [];
      const text = bearer ?? (rule.kind === 'either' ? headers['x-api-key'] : undefined);
      request.caller = this.visitors.callers.get(text ?? '');
      if (request.caller === undefined) throw new TestFault('invalid_api_key');
    } else if (rule.kind !== 'anyone') {
      const [, session = ''] = /svc_session=([^;]+)/.exec(headers['cookie'] ?? '') ?? [];
      request.reader = this.visitors.readers.get(session);
      if (request.reader === undefined) throw new TestFault('authentication_required');
      const hasRole =
        rule.kind !== 'role' || ROLES.indexOf(request.reader.role) >= ROLES.indexOf(rule.minimum);
      if (!hasRole) throw new TestFault('permission_denied');
    }
    return true;
  }
}

function verifyOrigin(headers: TestRequest['headers']): void {
  const site = headers['sec-fetch-site'];
  const isOwn =
    site === undefined ? headers['cookie'] === undefined : site === 'same-origin' || site === 'none';
  if (!isOwn) throw new TestFault('csrf_rejected');
}

export class TestPipe implements PipeTransform {
  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    const fields = metatype === undefined ? undefined : formFields.get(metatype);
    if (fields === undefined || metatype === undefined) return value;
    const input = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
    const form = new metatype() as Record<string, unknown>;
    const issues: object[] = [];
    for (const [name, field] of fields) {
      const read = field.read(input[name]);
      const issue = input[name] === undefined && read instanceof FieldIssue ? missing : read;
      if (issue instanceof FieldIssue)
        issues.push({ loc: [type, name], ...issue, msg: `${name} ${issue.msg}` });
      else form[name] = read;
    }
    for (const name of Object.keys(input))
      if (!fields.has(name) && name !== FORM_PAGE_FIELD)
        issues.push({
          loc: [type, name],
          type: 'whitelistValidation',
          msg: `property ${name} should not exist`,
        });
    if (issues.length > 0) throw new TestFault('validation_error', {}, issues);
    return form;
  }
}

const missing = new FieldIssue('missing', 'is missing');

/** Sends what a handler returned, by the kind of its route. */
export class TestInterceptor implements NestInterceptor {
  constructor(private readonly onAudit: (action: string, record: ChangeRecord) => void) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const route = routeOf(context);
    const http = context.switchToHttp();
    return next
      .handle()
      .pipe(
        map((result: unknown) =>
          route === undefined
            ? result
            : this.respond(route, result, http.getRequest<TestRequest>(), http.getResponse<TestResponse>()),
        ),
      );
  }

  private respond(
    route: TestRoute,
    result: unknown,
    { headers }: TestRequest,
    response: TestResponse,
  ): unknown {
    if (route.kind === 'redirect') return result;
    if (route.kind === 'page') return { view: route.view, model: result ?? {} };
    if (route.kind === 'csv') return csvFile(result as CsvTable, route.fileName ?? '');
    response.setHeader('cache-control', 'no-store');
    if (typeof route.audit === 'string') this.record(route.audit, result);
    if (result instanceof TestDone) {
      if (headers['accept']?.includes('text/html') !== true) return result.facts;
      response.statusCode = 303;
      response.setHeader('location', result.to);
      return result.facts;
    }
    if (typeof result === 'object' && result !== null) return result;
    response.setHeader('content-type', 'application/json; charset=utf-8');
    return JSON.stringify(result ?? null);
  }

  private record(action: string, result: unknown): void {
    const record = result instanceof TestDone ? result.outcome.record : {};
    if (record !== null) this.onAudit(action, record ?? {});
  }
}

function csvFile({ columns, rows }: CsvTable, name: string): StreamableFile {
  const lines = [columns, ...(rows as Iterable<readonly unknown[]>)].map((cells) =>
    cells.map(cellOf).join(','),
  );
  return new StreamableFile(Buffer.from(`${lines.join('\r\n')}\r\n`), {
    type: 'text/csv; charset=utf-8',
    disposition: `attachment; filename="${name}.csv"`,
  });
}

const cellOf = (cell: unknown): string => {
  const text =
    typeof cell === 'object' && cell !== null ? JSON.stringify(cell) : `${(cell ?? '') as string | number}`;
  const safe = /^[=+\-@\t\r]/.test(text) && typeof cell === 'string' ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** Sends errors in the format of the host: gateway paths wrap them in `error`. */
export class TestFilter implements ExceptionFilter {
  constructor(private readonly onFailure: (error: unknown) => void) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<TestResponse>();
    const { path } = http.getRequest<TestRequest>();
    const { code, status, message, detail, param } = problemOf(error);
    if (status >= 500) this.onFailure(error);
    const fields = { code, message, ...(param !== undefined && { param }) };
    response
      .status(status)
      .json(
        path.startsWith('/v1/') ? { error: fields } : { ...fields, ...(detail.length > 0 && { detail }) },
      );
  }
}

function problemOf(error: unknown) {
  if (error instanceof TestFault) {
    const { code, status, message, detail, options } = error;
    return { code, status, message, detail, param: options.param };
  }
  if (error instanceof HttpException) {
    const status = error.getStatus();
    const code = { 400: 'invalid_request', 403: 'permission_denied', 404: 'not_found', 409: 'conflict' }[
      status
    ];
    return { code: code ?? 'exception', status, message: error.message, detail: [], param: undefined };
  }
  return { code: 'internal_error', status: 500, message: 'Internal error.', detail: [], param: undefined };
}
