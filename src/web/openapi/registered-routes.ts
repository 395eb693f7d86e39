import { RequestMethod, type Type } from '@nestjs/common';
import {
  HEADERS_METADATA,
  HTTP_CODE_METADATA,
  METHOD_METADATA,
  PATH_METADATA,
  REDIRECT_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants';
import { MetadataScanner, type ModulesContainer, Reflector } from '@nestjs/core';
import type { InputField, InputFields } from '../../kernel';
import { accessMetadata, type AccessRule } from '../access-rule';
import { ParameterPipe } from '../parameters';
import { type BodyForm, bodyMetadata, pageFormMetadata } from '../portal-body.interceptor';
import { fileNameMetadata } from '../routes/csv.interceptor';
import { type PageView, viewMetadata } from '../routes/page-view';
import { type DescribedResponses, respondsMetadata } from '../routes/responds';

export interface RegisteredRoute {
  readonly method: string;
  /** Path with parameters in braces. */
  readonly path: string;
  readonly access: AccessRule;
  readonly answer: 'page' | 'table' | 'redirect' | 'data';
  readonly hasData: boolean;
  /** Status of a successful answer. */
  readonly status: number;
  readonly mediaType?: string;
  readonly responds: DescribedResponses;
  readonly forms: Forms;
  /** Fields of the page's HTML form, if different from those of the API. */
  readonly pageForm?: InputFields;
  /** Path and query parameters that are read individually. */
  readonly single: Readonly<Record<'param' | 'query', ReadonlyMap<string, InputField<unknown>>>>;
}

type ArgumentSource = 'body' | 'query' | 'param';

interface Forms {
  readonly body?: BodyForm;
  readonly query?: Type;
  readonly param?: Type;
}

/** Nest's numbers for the sources of a handler's arguments. */
const argumentSources: Readonly<Record<string, ArgumentSource>> = { 3: 'body', 4: 'query', 5: 'param' };
const plainTypes = new Set<unknown>([String, Number, Boolean, Array, Object, Promise]);

type RouteHandler = (...input: unknown[]) => unknown;

export function registeredRoutes(modules: ModulesContainer): RegisteredRoute[] {
  const scanner = new MetadataScanner();
  const routes = [...modules.values()].flatMap(({ controllers }) =>
    [...controllers.values()].flatMap(({ metatype }) => {
      if (typeof metatype !== 'function') return [];
      const controller = metatype as Type;
      const prototype = controller.prototype as object;
      return scanner.getAllMethodNames(prototype).flatMap((name) => routesOf(controller, prototype, name));
    }),
  );
  return routes.sort((a, b) => (a.path === b.path ? compare(a.method, b.method) : compare(a.path, b.path)));
}

const compare = (a: string, b: string): number => (a < b ? -1 : 1);

function routesOf(controller: Type, prototype: object, name: string): RegisteredRoute[] {
  const reflector = new Reflector();
  const handler = Reflect.get(prototype, name) as RouteHandler;
  const paths = reflector.get<string | string[] | undefined>(PATH_METADATA, handler);
  const access = reflector.getAllAndOverride<AccessRule | undefined>(accessMetadata, [handler, controller]);
  if (paths === undefined || access === undefined) return [];
  const page = reflector.get<PageView | undefined>(viewMetadata, handler);
  const [prefix = ''] = [reflector.get<string | string[] | undefined>(PATH_METADATA, controller)].flat();
  const method = RequestMethod[reflector.get<RequestMethod>(METHOD_METADATA, handler)];
  return [paths].flat().map((path) => ({
    method,
    path: openPath(prefix, path),
    access,
    hasData: page?.data === true,
    ...responseTraitsOf(handler, page !== undefined),
    ...inputsOf(controller, prototype, name),
  }));
}

function responseTraitsOf(
  handler: RouteHandler,
  isPage: boolean,
): Pick<RegisteredRoute, 'answer' | 'status' | 'mediaType' | 'responds'> {
  const reflector = new Reflector();
  const isRedirect = Reflect.hasMetadata(REDIRECT_METADATA, handler);
  const status = reflector.get<number | undefined>(HTTP_CODE_METADATA, handler) ?? (isRedirect ? 302 : 200);
  const headers = reflector.get<{ name: string; value: string }[] | undefined>(HEADERS_METADATA, handler);
  const mediaType = headers?.find(({ name }) => name === 'content-type')?.value.split(';')[0];
  const isTable = Reflect.hasMetadata(fileNameMetadata, handler);
  return {
    answer: isPage ? 'page' : isTable ? 'table' : status >= 300 ? 'redirect' : 'data',
    status,
    ...(mediaType === undefined ? {} : { mediaType }),
    responds: reflector.get<DescribedResponses | undefined>(respondsMetadata, handler) ?? {},
  };
}

/** Converts `:key_id` to `{key_id}`, and an optional slash at the end to a slash. */
function openPath(prefix: string, path: string): string {
  const segments = `${prefix}/${path.replace('{/}', '')}`.split('/').filter((segment) => segment !== '');
  const end = path.endsWith('{/}') ? '/' : '';
  return `/${segments.map((segment) => segment.replace(/^:(\w+)$/, '{$1}')).join('/')}${end}`;
}

interface Argument {
  readonly index: number;
  readonly data?: unknown;
  readonly pipes: readonly unknown[];
}

function inputsOf(
  controller: Type,
  prototype: object,
  name: string,
): Pick<RegisteredRoute, 'forms' | 'single' | 'pageForm'> {
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<string, Argument>;
  const types = (Reflect.getMetadata('design:paramtypes', prototype, name) ?? []) as (Type | undefined)[];
  const handler = Reflect.get(prototype, name) as RouteHandler;
  const body = Reflect.getMetadata(bodyMetadata, handler) as BodyForm | undefined;
  const pageForm = Reflect.getMetadata(pageFormMetadata, handler) as InputFields | undefined;
  const forms: { -readonly [Of in keyof Forms]: Forms[Of] } = body === undefined ? {} : { body };
  const single = {
    param: new Map<string, InputField<unknown>>(),
    query: new Map<string, InputField<unknown>>(),
  };
  for (const [key, { index, data, pipes }] of Object.entries(args)) {
    const source = argumentSources[key.split(':')[0] ?? ''];
    const type = types[index];
    const pipe = pipes.find((one) => one instanceof ParameterPipe);
    if (pipe !== undefined && (source === 'param' || source === 'query'))
      single[source].set(String(data), pipe.field);
    else if (source !== undefined && type !== undefined && !plainTypes.has(type)) forms[source] ??= type;
  }
  return { forms, single, ...(pageForm === undefined ? {} : { pageForm }) };
}
