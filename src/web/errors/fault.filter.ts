import { type ServerResponse, STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import {
  Fault,
  fault,
  fromUnknown,
  type Place,
  renderGateway,
  renderMessages,
  renderPageModel,
  renderPortal,
  type Rendered,
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
import { extensionAt } from '../extensions/owners';
import { ErrorFrame } from './error-frame';
import { servedElsewhere, strayRoute } from './stray-route';
import { PageRenderer } from '../pages/page-renderer';
import { parametersAtFault, type Posted, type Refusal } from '../pages/refusal';

type Surface = 'gateway' | 'messages' | 'page' | 'portal';

/** The exception filter: every failure is answered with a code of the catalogue, in the format of its interface. */
@Catch()
export class FaultFilter implements ExceptionFilter {
  constructor(
    private readonly adapter: LeanAdapter,
    private readonly pages: PageRenderer,
    private readonly frame: ErrorFrame,
    private readonly logger: Logger,
    private readonly settings: Settings,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<HttpRequest>();
    const response = http.getResponse<ServerResponse>();
    const stray = this.strayOf(error, request);
    const problem = stray ?? this.faultOf(error, request, response);
    // A caller that disconnected is logged elsewhere.
    const isTold = problem.status >= 500 || (request.attempted !== undefined && problem.status !== 499);
    if (isTold) this.report(problem, request);
    // A stream has been told of its failure in its own words.
    if (response.writableEnded) return;
    if (response.headersSent) {
      // Too late for an error answer: the connection is broken, so that the answer is not mistaken for a whole one.
      setImmediate(() => response.destroy());
      return;
    }
    if (!request.complete) response.setHeader('connection', 'close');
    if (stray !== null) this.answer(stray, request, response, straySurface(request));
    else if (request.refusal !== undefined) this.answer(request.refusal.problem, request, response);
    else if (!this.showWithout(problem, request, response) && !this.showAgain(problem, request, response))
      this.answer(request.refusedAddress ?? problem, request, response);
  }

  /** An address with a bad parameter leads to its page without it, which says so. */
  private showWithout(problem: Fault, request: HttpRequest, response: ServerResponse): boolean {
    if (request.method !== 'GET' || request.isPage !== true || !wantsPage(request)) return false;
    const query = queryOf(request);
    const bad = parametersAtFault(problem).filter((name) => query.has(name));
    const path = pathOf(request);
    const page = this.adapter.routes.find('GET', path);
    if (bad.length === 0 || page === null) return false;
    for (const name of bad) query.delete(name);
    const url = query.size === 0 ? path : `${path}?${query.toString()}`;
    const refusedAddress = request.refusedAddress ?? problem;
    const again = Object.assign(Object.create(request) as HttpRequest, {
      url,
      originalUrl: url,
      params: page.params,
      refusedAddress,
    });
    page.handler(again, response, () => this.answer(refusedAddress, request, response));
    return true;
  }

  /** A refused form comes back on its own page, which its handler makes for the same person as ever. */
  private showAgain(problem: Fault, request: HttpRequest, response: ServerResponse): boolean {
    const { formPage } = request;
    if (formPage === undefined || !mayBeMended(problem) || this.surfaceOf(request) !== 'page') return false;
    const [path = ''] = formPage.split('?');
    const page = this.adapter.routes.find('GET', path);
    if (page === null) return false;
    const refusal: Refusal = { path: pathOf(request), posted: request.body as Posted, problem };
    const again = Object.assign(Object.create(request) as HttpRequest, {
      method: 'GET',
      url: formPage,
      originalUrl: formPage,
      params: page.params,
      refusal,
    });
    const { headers } = renderPageModel(problem, request.requestId);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    page.handler(again, response, () => this.answer(problem, request, response));
    return true;
  }

  /** A path that was meant for the API and is not served. */
  private strayOf(error: unknown, request: HttpRequest): Fault | null {
    if (!(error instanceof HttpException) || error.getStatus() !== 404 || wantsPage(request)) return null;
    const path = pathOf(request);
    if (!servesGateway(this.settings)) return servedElsewhere(path, this.settings);
    return strayRoute(request.method ?? 'GET', path, this.adapter.routes);
  }

  /** Nest says "not found" for a known path under another verb, too. */
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

  private answer(
    problem: Fault,
    request: HttpRequest,
    response: ServerResponse,
    surface: Surface = this.surfaceOf(request),
  ): void {
    const elsewhere = surface === 'page' ? placeFor(problem, request) : null;
    if (elsewhere !== null) {
      response.setHeader('location', elsewhere);
      send(response, { status: 303, headers: {}, type: 'text/plain; charset=utf-8', text: '' });
      return;
    }
    if (surface === 'page') {
      void this.answerPage(problem, request, response);
      return;
    }
    const { status, headers, body } = this.rendered(surface, problem, request);
    send(response, { status, headers, type: 'application/json; charset=utf-8', text: JSON.stringify(body) });
  }

  /** A node without pages answers everybody as it answers programs. */
  private surfaceOf(request: HttpRequest): Surface {
    const surface = surfaceOf(request);
    return servesPortal(this.settings) || surface === 'messages' ? surface : 'gateway';
  }

  private async answerPage(problem: Fault, request: HttpRequest, response: ServerResponse): Promise<void> {
    await this.frame.load(problem, request, response);
    if (response.headersSent) return;
    const { html, status, headers } = this.pages.fault(problem, request);
    send(response, { status, headers, type: 'text/html; charset=utf-8', text: html });
  }

  private rendered(surface: Exclude<Surface, 'page'>, problem: Fault, request: HttpRequest): Rendered {
    const { requestId } = request;
    if (surface === 'messages') {
      const rendered = renderMessages(problem, requestId);
      const isAgents = problem.code === 'budget_exceeded' && isClaudeCode(request);
      return isAgents ? renderSpentBudget(rendered, problem) : rendered;
    }
    if (surface === 'gateway') return renderGateway(problem, requestId);
    const rendered = renderPortal(problem, requestId, (name) => placeOf(name, request));
    // Programs read the English texts; scripts of our pages show this one to people.
    const local_message = this.pages.refusalText(problem, request);
    return { ...rendered, body: { ...rendered.body, local_message } };
  }

  /** A stack helps only where the fault is our own. */
  private report(problem: Fault, request: HttpRequest): void {
    const { requestId, clientRequestId, method, caller, attempted } = request;
    const isOurs = problem.status === 500;
    this.logger[weightOf(problem, request)]('request failed', {
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
      ...(isOurs
        ? { error: problem.options.cause ?? problem }
        : { cause: underlyingCause(problem) ?? undefined }),
    });
  }
}

/** It says where a parameter that a rule names stands in the request. */
function placeOf(name: string, request: HttpRequest): Place {
  if (Object.hasOwn(request.params, name)) return 'path';
  return request.method === 'GET' || queryOf(request).has(name) ? 'query' : 'body';
}

/** Another entry, or the same a little later, may mend these; the rest has a page of its own. */
const mayBeMended = ({ status, code }: Fault): boolean =>
  code !== 'csrf_rejected' && ![401, 499, 500].includes(status);

const noLane: ReadonlySet<string> = new Set(['no_providers_available', 'sovereign_route_unavailable']);

/** The caller's fault is news, a supplier's a warning, and our own an error. */
function weightOf({ status, code }: Fault, { attempted }: HttpRequest): 'info' | 'warn' | 'error' {
  if (status === 500) return 'error';
  if (noLane.has(code)) return 'warn';
  const supplier = attempted?.supplier ?? null;
  if (status < 500 && code !== 'supplier_limit') return 'info';
  return supplier === null ? 'error' : 'warn';
}

/** Where the path says nothing, the caller's own headers tell which errors it reads. */
const straySurface = (request: HttpRequest): Surface =>
  surfaceOf(request) === 'messages' || isOfAnthropic(request) ? 'messages' : 'gateway';

const isOfAnthropic = ({ headers }: HttpRequest): boolean =>
  (headers['anthropic-version'] ?? headers['vendor-version']) !== undefined;

function surfaceOf(request: HttpRequest): Surface {
  const path = pathOf(request);
  if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return 'messages';
  // Both families of clients list models.
  if (/^\/v1\/models(\/|$)/.test(path) && isOfAnthropic(request)) return 'messages';
  if (isGatewayPath(path) || isProbePath(path)) return 'gateway';
  return wantsPage(request) ? 'page' : 'portal';
}

/** A visitor is redirected to the page that resolves the refusal. */
function placeFor({ code, options }: Fault, request: HttpRequest): string | null {
  if (request.method !== 'GET') return null;
  if (code === 'authentication_required' || code === 'invalid_session') {
    return `/login?next=${encodeURIComponent(request.originalUrl)}`;
  }
  const status = code === 'account_status' ? options.details?.status : undefined;
  return status === 'suspended' || status === 'archived' ? `/account/${status}` : null;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string;
  readonly text: string;
}

function send(response: ServerResponse, answer: Answer): void {
  response.statusCode = answer.status;
  response.statusMessage = STATUS_CODES[answer.status] ?? '';
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  response.setHeader('content-type', answer.type);
  response.setHeader('cache-control', 'no-store');
  response.setHeader('content-length', Buffer.byteLength(answer.text));
  response.end(answer.text);
}
