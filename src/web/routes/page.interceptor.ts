import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { map, type Observable } from 'rxjs';
import { requestOf } from '../http-request';
import { PageRenderer } from '../pages/page-renderer';

export const viewMetadata = 'switchboard:view';

/** A page's handler answers a plain model; this makes the page of it. */
@Injectable()
export class PageInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly pages: PageRenderer,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const view = this.reflector.get<string>(viewMetadata, context.getHandler());
    const response = context.switchToHttp().getResponse<ServerResponse>();
    return next.handle().pipe(
      map((model: unknown) => {
        response.setHeader('content-type', 'text/html; charset=utf-8');
        response.setHeader('cache-control', 'no-store');
        return this.pages.page(view, (model as object | undefined) ?? {}, requestOf(context));
      }),
    );
  }
}
