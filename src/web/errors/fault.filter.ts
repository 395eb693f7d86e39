import { type ServerResponse, STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import {
  Fault,
  fault,
  fromUnknown,
  type ParameterLocation,
  renderGateway,
  renderMessages,
  renderPortal,
  type RenderedError,
  underlyingCause,
} from '../../kernel';
import {
  isGatewayPath,
  isProbePath,
  LeanAdapter,
  Logger,
  servesGateway,
  servesPortal,
  Settings,
} from '../../platform';
import { isClaudeCode, renderSpentBudget } from '../claude-code';
import { type HttpRequest, pathOf, queryOf, wantsPage } from '../http-request';
import { extensionAt } from '../extensions/controller-owners';
import { ErrorFrame } from './error-frame';
import { portalOnlyFault, strayRoute } from './stray-route';
import { PageRenderer } from '../pages/page-renderer';
import { RefusedForms } from '../pages/refused-forms';

type Surface = 'gateway' | 'messages' | 'page' | 'portal';

@Catch()
export class FaultFilter implements ExceptionFilter {
  constructor(
    private readonly adapter: LeanAdapter,
    private readonly pages: PageRenderer,
    private readonly frame: ErrorFrame,
    private readonly forms: RefusedForms,
    private readonly logger: Logger,
    private readonly settings: Settings,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<HttpRequest>();
    const response = http.getResponse<ServerResponse>();
    const strayFault = this.strayFaultOf(error, request);
    const problem = strayFault ?? this.faultOf(error, request, response);
    // Disconnected callers are logged elsewhere.
    const isLogged = problem.status >= 500 || (request.attempted !== undefined && problem.status !== 499);
    if (isLogged) this.report(problem, request);
    // A stream has already reported its failure.
    if (response.writableEnded) return;
    if (response.headersSent) {
      // The connection is destroyed, so that a truncated response is not taken for a complete one.
      setImmediate(() => response.destroy());
      return;
    }
    if (!request.complete) response.setHeader('connection', 'close');
    if (strayFault !== null) this.respond(strayFault, request, response, straySurface(request));
    else if (request.refusal !== undefined) this.respond(request.refusal.problem, request, response);
    else if (!this.showFormAgain(problem, request, response))
      this.respond(request.refusedAddress ?? problem, request, response);
  }

  private showFormAgain(problem: Fault, request: HttpRequest, response: ServerResponse): boolean {
    if (this.surfaceOf(request) !== 'page') return false;
    return this.forms.showAgain(problem, request, response, () => this.respond(problem, request, response));
  }

  private strayFaultOf(error: unknown, request: HttpRequest): Fault | null {
    if (!(error instanceof HttpException) || error.getStatus() !== 404 || wantsPage(request)) return null;
    const path = pathOf(request);
    if (!servesGateway(this.settings)) return portalOnlyFault(path, this.settings);
    return strayRoute(request.method ?? 'GET', path, this.adapter.routes);
  }

  /** Nest reports "not found" also for a known path under another method. */
  private faultOf(error: unknown, request: HttpRequest, response: ServerResponse): Fault {
    const problem = fromUnknown(error);
    if (!(error instanceof HttpException) || problem.code !== 'not_found') return problem;
    const allowed = this.adapter.routes.methodsOf(pathOf(request));
    if (allowed.length === 0) return problem;
    response.setHeader('allow', allowed.join(', '));
    return fault('method_not_allowed', {
      message: `${request.method ?? 'This verb'} is not answered here; use ${allowed.join(' or ')}.`,
    });
  }

  private respond(
    problem: Fault,
    request: HttpRequest,
    response: ServerResponse,
    surface: Surface = this.surfaceOf(request),
  ): void {
    const redirectTarget = surface === 'page' ? redirectFor(problem, request) : null;
    if (redirectTarget !== null) {
      response.setHeader('location', redirectTarget);
      send(response, { status: 303, headers: {}, type: 'text/plain; charset=utf-8', text: '' });
      return;
    }
    if (surface === 'page') {
      void this.respondWithPage(problem, request, response);
      return;
    }
    const { status, headers, body } = this.render(surface, problem, request);
    send(response, { status, headers, type: 'application/json; charset=utf-8', text: JSON.stringify(body) });
  }

  /** A node without pages responds in the gateway's format. */
  private surfaceOf(request: HttpRequest): Surface {
    const surface = surfaceOf(request);
    return servesPortal(this.settings) || surface === 'messages' ? surface : 'gateway';
  }

  private async respondWithPage(
    problem: Fault,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> {
    await this.frame.load(problem, request, response);
    if (response.headersSent) return;
    const { html, status, headers } = this.pages.fault(problem, request);
    send(response, { status, headers, type: 'text/html; charset=utf-8', text: html });
  }

  private render(surface: Exclude<Surface, 'page'>, problem: Fault, request: HttpRequest): RenderedError {
    const { requestId } = request;
    if (surface === 'messages') {
      const rendered = renderMessages(problem, requestId);
      const isClaudeCodeBudget = problem.code === 'budget_exceeded' && isClaudeCode(request);
      return isClaudeCodeBudget ? renderSpentBudget(rendered, problem) : rendered;
    }
    if (surface === 'gateway') return renderGateway(problem, requestId);
    const rendered = renderPortal(problem, requestId, (name) => locationOf(name, request));
    // API clients read the English message; scripts of the portal show the translated one.
    const local_message = this.pages.refusalText(problem, request);
    return { ...rendered, body: { ...rendered.body, local_message } };
  }

  private report(problem: Fault, request: HttpRequest): void {
    const { requestId, clientRequestId, method, caller, attempted } = request;
    const isInternal = problem.status === 500;
    this.logger[logLevelOf(problem, request)]('request failed', {
      request_id: requestId,
      client_request_id: clientRequestId ?? undefined,
      extension: extensionAt(pathOf(request)),
      policy: problem.options.details?.['policy'],
      key_id: caller?.keyId,
      model: attempted?.model,
      provider: attempted?.supplier ?? undefined,
      status: problem.status,
      code: problem.code,
      method,
      path: pathOf(request),
      ...(isInternal
        ? { error: problem.options.cause ?? problem }
        : { cause: underlyingCause(problem) ?? undefined }),
    });
  }
}

function locationOf(name: string, request: HttpRequest): ParameterLocation {
  if (Object.hasOwn(request.params, name)) return 'path';
  return request.method === 'GET' || queryOf(request).has(name) ? 'query' : 'body';
}

const NO_LANE_CODES: ReadonlySet<string> = new Set(['no_providers_available', 'sovereign_route_unavailable']);

function logLevelOf({ status, code }: Fault, { attempted }: HttpRequest): 'info' | 'warn' | 'error' {
  if (status === 500) return 'error';
  if (NO_LANE_CODES.has(code)) return 'warn';
  const supplier = attempted?.supplier ?? null;
  if (status < 500 && code !== 'supplier_limit') return 'info';
  return supplier === null ? 'error' : 'warn';
}

/** If the path is ambiguous, the caller's headers decide the error format. */
const straySurface = (request: HttpRequest): Surface =>
  surfaceOf(request) === 'messages' || isAnthropicClient(request) ? 'messages' : 'gateway';

const isAnthropicClient = ({ headers }: HttpRequest): boolean =>
  (headers['anthropic-version'] ?? headers['vendor-version']) !== undefined;

function surfaceOf(request: HttpRequest): Surface {
  const path = pathOf(request);
  if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return 'messages';
  // Both client families list models.
  if (/^\/v1\/models(\/|$)/.test(path) && isAnthropicClient(request)) return 'messages';
  if (isGatewayPath(path) || isProbePath(path)) return 'gateway';
  return wantsPage(request) ? 'page' : 'portal';
}

function redirectFor({ code, options }: Fault, request: HttpRequest): string | null {
  if (request.method !== 'GET') return null;
  if (code === 'authentication_required' || code === 'invalid_session') {
    return `/login?next=${encodeURIComponent(request.originalUrl)}`;
  }
  const status = code === 'account_status' ? options.details?.status : undefined;
  return status === 'suspended' || status === 'archived' ? `/account/${status}` : null;
}

interface FaultResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string;
  readonly text: string;
}

function send(response: ServerResponse, error: FaultResponse): void {
  response.statusCode = error.status;
  response.statusMessage = STATUS_CODES[error.status] ?? '';
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  response.setHeader('content-type', error.type);
  response.setHeader('cache-control', 'no-store');
  response.setHeader('content-length', Buffer.byteLength(error.text));
  response.end(error.text);
}
