import type { ServerResponse } from 'node:http';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { mergeMap, type Observable, of, retry, throwError } from 'rxjs';
import { fromUnknown, portalStatusOf } from '../../kernel';
import { extensionOf } from '../extensions/controller-owners';
import { type HttpRequest, pathOf, queryOf, requestOf, wantsPage } from '../http-request';
import { encodeBody } from '../pages/compression';
import { PageFrames } from '../pages/page-frame';
import { PageRenderer } from '../pages/page-renderer';
import { invalidParameters } from '../pages/refusal';
import { extensionViewName } from '../../views';
import { type PageOptions, type PageView, viewMetadata } from './page-view';

const UNPROCESSABLE = 422;

@Injectable()
export class PageInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly pages: PageRenderer,
    private readonly frames: PageFrames,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const page = this.reflector.get<PageView>(viewMetadata, context.getHandler());
    const extension = extensionOf(context.getClass());
    const view = extension === undefined ? page.view : extensionViewName(extension, page.view);
    const response = context.switchToHttp().getResponse<ServerResponse>();
    const request = requestOf(context);
    const returnsData =
      page.data === true && (queryOf(request).get('format') === 'json' || prefersData(page, request));
    return next.handle().pipe(
      mergeMap(async (result: unknown) => {
        const model = (result as { data?: unknown } | undefined) ?? {};
        setCaching(response, request.refusedAddress === undefined ? page : { view }, returnsData);
        if (returnsData) return model.data;
        if (page.cacheSeconds === undefined) await this.frames.load(request, response);
        response.setHeader('content-type', 'text/html; charset=utf-8');
        if (request.refusedAddress !== undefined) response.statusCode = UNPROCESSABLE;
        if (request.refusal !== undefined) response.statusCode = portalStatusOf(request.refusal.problem);
        const html = Buffer.from(this.pages.page(view, model, request));
        return new StreamableFile((await encodeBody(html, request, response)) ?? html);
      }),
      retry({
        delay: (error: unknown) =>
          !returnsData && dropInvalidParameters(error, request) ? of(null) : throwError(() => error),
      }),
    );
  }
}

/** Removes invalid query parameters, so that the handler can run without them; the page reports the error. */
function dropInvalidParameters(error: unknown, request: HttpRequest): boolean {
  if (request.method !== 'GET' || request.refusal !== undefined || !wantsPage(request)) return false;
  const problem = fromUnknown(error);
  const query = queryOf(request);
  const invalid = invalidParameters(problem).filter((name) => query.has(name));
  if (invalid.length === 0) return false;
  for (const name of invalid) query.delete(name);
  const path = pathOf(request);
  request.originalUrl = query.size === 0 ? path : `${path}?${query.toString()}`;
  request.url = request.originalUrl;
  request.refusedAddress ??= problem;
  return true;
}

/** Shared caches store one response per address, so only uncached pages are selected by `Accept`. */
function prefersData({ cacheSeconds }: PageOptions, request: HttpRequest): boolean {
  const acceptsJson = request.headers.accept?.includes('application/json') ?? false;
  return cacheSeconds === undefined && acceptsJson && !wantsPage(request);
}

/** Pages vary by language, theme and time zone; data do not. */
function setCaching(response: ServerResponse, { cacheSeconds }: PageOptions, isData: boolean): void {
  if (cacheSeconds === undefined) {
    response.setHeader('cache-control', 'no-store');
    return;
  }
  response.setHeader('cache-control', `public, max-age=${cacheSeconds}`);
  if (!isData) response.setHeader('vary', 'accept-language, cookie, hx-request');
}
