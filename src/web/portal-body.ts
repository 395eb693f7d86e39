import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Observable } from 'rxjs';
import { fault, type Fields, readJsonObject } from '../kernel';
import { readBody, Settings } from '../platform';
import { type HttpRequest, requestOf } from './http-request';
import { takeFormPage } from './pages/refusal';
import { unreadable } from './unreadable';
import { readUpload } from './upload';

export const bodyLimitMetadata = 'switchboard:body-limit';
export const filesMetadata = 'switchboard:takes-files';
export const bodyMetadata = 'switchboard:body-form';
export const pageFormMetadata = 'switchboard:page-form';

/** A class whose properties have rules, or fields by their names. */
export type BodyForm = Type | Fields;

/**
 * Reads the body of a change in the portal, once the guards have let the request in: a refused one is not worth the
 * memory. The bytes stay beside the parsed form: a webhook's signature is over them.
 */
@Injectable()
export class PortalBodyInterceptor implements NestInterceptor {
  constructor(
    private readonly settings: Settings,
    private readonly reflector: Reflector,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = requestOf(context);
    if (hasBody(request)) {
      const own = this.reflector.get<number | undefined>(bodyLimitMetadata, context.getHandler());
      request.rawBody = await readBody(request, own ?? this.settings.portalBodyLimitBytes);
      const takesFiles = this.reflector.get<boolean | undefined>(filesMetadata, context.getHandler());
      const type = mediaTypeOf(request);
      request.body =
        takesFiles === true && type === 'multipart/form-data'
          ? await readUpload(request.rawBody, request.headers['content-type'] ?? '')
          : await parseBody(request.rawBody, type);
      request.formPage = takeFormPage(request.body);
    }
    // A change without a body is one without fields.
    request.body ??= {};
    return next.handle();
  }
}

const hasBody = ({ headers }: HttpRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const mediaTypeOf = ({ headers }: HttpRequest): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

export function parseBody(bytes: Buffer, mediaType: string): unknown {
  switch (mediaType) {
    case 'application/json':
      return parseObject(bytes);
    case 'application/x-www-form-urlencoded':
      return parseForm(bytes);
    default:
      throw fault('unsupported_media_type');
  }
}

async function parseObject(bytes: Buffer): Promise<unknown> {
  return (await readJsonObject(bytes)).body;
}

const MAX_FIELDS = 1_000;

/** A field that comes more than once becomes a list; names never reach a prototype. */
function parseForm(bytes: Buffer): Record<string, string | string[]> {
  const text = bytes.toString('utf8');
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS) {
    throw unreadable(`A form has at most ${MAX_FIELDS} fields.`);
  }
  const form = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of new URLSearchParams(text)) {
    const earlier = form[name];
    form[name] =
      earlier === undefined ? value : Array.isArray(earlier) ? [...earlier, value] : [earlier, value];
  }
  return form;
}
