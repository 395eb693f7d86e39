import {
  applyDecorators,
  Delete,
  Get,
  Header,
  HttpCode,
  Post,
  Redirect,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import type { InputFields } from '../../kernel';
import { Audited, type AuditRule } from '../audited';
import { SameOriginGuard } from '../guards/same-origin.guard';
import {
  type BodyForm,
  bodyLimitMetadata,
  bodyMetadata,
  filesMetadata,
  pageFormMetadata,
  PortalBodyInterceptor,
} from '../portal-body.interceptor';
import { FormPipe } from '../validation';
import { CsvInterceptor, fileNameMetadata } from './csv.interceptor';
import { ActionResultInterceptor } from './action-result';
import { type PageOptions, type PageView, viewMetadata } from './page-view';
import { type DescribedResponses, Responds } from './responds';
import { OwnWritesInterceptor } from './own-writes.interceptor';
import { PageInterceptor } from './page.interceptor';

/*
 * The five kinds of portal routes. Each fixes status, access, same-origin check, validation and response format, so
 * that a handler only parses, calls a service and builds a model.
 */

export const Page = (
  path: string | string[],
  view: string,
  access: MethodDecorator,
  options: PageOptions = {},
): MethodDecorator =>
  applyDecorators(
    Get(path),
    access,
    SetMetadata(viewMetadata, { view, ...options } satisfies PageView),
    UseInterceptors(PageInterceptor),
    UsePipes(new FormPipe({ isPage: true })),
  );

export const Data = (path: string, access: MethodDecorator): MethodDecorator =>
  applyDecorators(Get(path), access, Header('cache-control', 'no-store'), UsePipes(FormPipe));

export interface ActionRouteOptions {
  /**
   * Entry that the change must write in the activity log; without the entry, the handler fails and its transaction is
   * rolled back.
   */
  readonly audit: AuditRule;
  readonly verb?: 'post' | 'delete';
  readonly bodyLimitBytes?: number;
  /** Form of the body if the handler reads the body itself. */
  readonly body?: BodyForm;
  readonly responds?: Pick<DescribedResponses, 'content'>;
  /** Fields of the page's HTML form, if different from the body's. */
  readonly page?: InputFields;
  readonly takesFiles?: boolean;
}

/**
 * A change, accepted only from the portal's own pages. The same-origin check precedes the session check, and both
 * precede reading the body.
 */
export const Action = (
  path: string,
  access: MethodDecorator,
  { audit, verb = 'post', body, page, bodyLimitBytes, takesFiles, responds }: ActionRouteOptions,
): MethodDecorator =>
  applyDecorators(
    verb === 'post' ? Post(path) : Delete(path),
    HttpCode(200),
    Responds({ redirect: 303, ...responds }),
    UseGuards(SameOriginGuard),
    access,
    Header('cache-control', 'no-store'),
    SetMetadata(bodyLimitMetadata, bodyLimitBytes),
    SetMetadata(filesMetadata, takesFiles),
    SetMetadata(bodyMetadata, body),
    SetMetadata(pageFormMetadata, page),
    UseInterceptors(PortalBodyInterceptor, ActionResultInterceptor, OwnWritesInterceptor),
    Audited(audit),
    UsePipes(FormPipe),
  );

export const Csv = (path: string, access: MethodDecorator, fileName: string): MethodDecorator =>
  applyDecorators(
    Get(path),
    access,
    SetMetadata(fileNameMetadata, fileName),
    UseInterceptors(CsvInterceptor),
    UsePipes(FormPipe),
  );

export const Redirects = (from: string, to: string, access: MethodDecorator): MethodDecorator =>
  applyDecorators(Get(from), access, Redirect(to, 302));
