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
import type { Fields } from '../../kernel';
import { Audited, type AuditRule } from '../audited';
import { SameOriginGuard } from '../guards/same-origin.guard';
import {
  type BodyForm,
  bodyLimitMetadata,
  bodyMetadata,
  filesMetadata,
  pageFormMetadata,
  PortalBodyInterceptor,
} from '../portal-body';
import { FormPipe, PagePipe } from '../validation';
import { CsvInterceptor, fileNameMetadata } from './csv.interceptor';
import { DoneInterceptor } from './done';
import { type PageOptions, type PageView, viewMetadata } from './page-view';
import { type DescribedResponses, Responds } from './responds';
import { OwnWritesInterceptor } from './own-writes.interceptor';
import { PageInterceptor } from './page.interceptor';

/*
 * The five kinds of route of the portal. Each fixes status, access, same-origin check, validation and form of the
 * answer, so that a handler is left with parse → service → model.
 */

/** An HTML page: the handler answers the model of the view, whose path is the page's. */
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
    UsePipes(PagePipe),
  );

/** It serves JSON for a page's scripts and for programs. */
export const Data = (path: string, access: MethodDecorator): MethodDecorator =>
  applyDecorators(Get(path), access, Header('cache-control', 'no-store'), UsePipes(FormPipe));

export interface ActionOptions {
  /** The entry the change leaves in the activity log; without it the handler fails and its transaction is undone. */
  readonly audit: AuditRule;
  readonly verb?: 'post' | 'delete';
  /** A body may be larger here than those of other changes. */
  readonly bodyLimitBytes?: number;
  /** The body is read by this form where the handler reads it itself. */
  readonly body?: BodyForm;
  /** The bodies of its responses, if more is known of them than that they are JSON objects. */
  readonly responds?: Pick<DescribedResponses, 'content'>;
  /** The same of the page's form, where that says it in other fields. */
  readonly page?: Fields;
  /** Its form may carry files, as `multipart/form-data`. */
  readonly takesFiles?: boolean;
}

/**
 * A change: only from our own pages. The same-origin check comes before the session is even looked at, and both come
 * before the body is read.
 */
export const Action = (
  path: string,
  access: MethodDecorator,
  { audit, verb = 'post', body, page, bodyLimitBytes, takesFiles, responds }: ActionOptions,
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
    UseInterceptors(PortalBodyInterceptor, DoneInterceptor, OwnWritesInterceptor),
    Audited(audit),
    UsePipes(FormPipe),
  );

/** A file of rows: the handler answers columns and an iterable of rows. */
export const Csv = (path: string, access: MethodDecorator, fileName: string): MethodDecorator =>
  applyDecorators(
    Get(path),
    access,
    SetMetadata(fileNameMetadata, fileName),
    UseInterceptors(CsvInterceptor),
    UsePipes(FormPipe),
  );

/** An old address that moved. */
export const Redirects = (from: string, to: string, access: MethodDecorator): MethodDecorator =>
  applyDecorators(Get(from), access, Redirect(to, 302));
