import { RequestMethod, type Type } from '@nestjs/common';
import {
  METHOD_METADATA,
  PATH_METADATA,
  REDIRECT_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants';
import { MetadataScanner, type ModulesContainer, Reflector } from '@nestjs/core';
import type { Field, Fields } from '../../kernel';
import { accessMetadata, type AccessRule } from '../access-rule';
import { ParameterPipe } from '../parameters';
import { type BodyForm, bodyMetadata, pageFormMetadata } from '../portal-body';
import { fileNameMetadata } from '../routes/csv.interceptor';
import { type PageView, viewMetadata } from '../routes/page-view';

export interface RegisteredRoute {
  readonly method: string;
  /** Its parameters stand in braces. */
  readonly path: string;
  readonly access: AccessRule;
  readonly answer: 'page' | 'table' | 'redirect' | 'data';
  /** A page that answers as JSON, too. */
  readonly hasData: boolean;
  /** Its query, its body or its path parameters are validated by these. */
  readonly forms: Forms;
  /** The form of a page sends these, where they differ from those of programs. */
  readonly pageForm?: Fields;
  /** These parameters of the path and of the query are read one by one. */
  readonly single: Readonly<Record<'param' | 'query', ReadonlyMap<string, Field<unknown>>>>;
}

type Place = 'body' | 'query' | 'param';

interface Forms {
  readonly body?: BodyForm;
  readonly query?: Type;
  readonly param?: Type;
}

/** Nest has these numbers for the sources of a handler's arguments. */
const places: Readonly<Record<string, Place>> = { 3: 'body', 4: 'query', 5: 'param' };
const plainTypes = new Set<unknown>([String, Number, Boolean, Array, Object, Promise]);

type Handler = (...input: unknown[]) => unknown;

/** Every route the service has registered, with what its handler says of itself: nothing is written down twice. */
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
  const handler = Reflect.get(prototype, name) as Handler;
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
    answer: page !== undefined ? 'page' : answerOf(handler),
    hasData: page?.data === true,
    ...inputsOf(controller, prototype, name),
  }));
}

function answerOf(handler: Handler): RegisteredRoute['answer'] {
  if (Reflect.hasMetadata(fileNameMetadata, handler)) return 'table';
  return Reflect.hasMetadata(REDIRECT_METADATA, handler) ? 'redirect' : 'data';
}

/** `:key_id` in Nest is `{key_id}` in OpenAPI. */
function openPath(prefix: string, path: string): string {
  const segments = `${prefix}/${path}`.split('/').filter((segment) => segment !== '');
  return `/${segments.map((segment) => segment.replace(/^:(\w+)$/, '{$1}')).join('/')}`;
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
  const taken = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
    string,
    Argument
  >;
  const types = (Reflect.getMetadata('design:paramtypes', prototype, name) ?? []) as (Type | undefined)[];
  const handler = Reflect.get(prototype, name) as Handler;
  const body = Reflect.getMetadata(bodyMetadata, handler) as BodyForm | undefined;
  const pageForm = Reflect.getMetadata(pageFormMetadata, handler) as Fields | undefined;
  const forms: { -readonly [Of in keyof Forms]: Forms[Of] } = body === undefined ? {} : { body };
  const single = { param: new Map<string, Field<unknown>>(), query: new Map<string, Field<unknown>>() };
  for (const [key, { index, data, pipes }] of Object.entries(taken)) {
    const place = places[key.split(':')[0] ?? ''];
    const type = types[index];
    const pipe = pipes.find((one) => one instanceof ParameterPipe);
    if (pipe !== undefined && (place === 'param' || place === 'query'))
      single[place].set(String(data), pipe.field);
    else if (place !== undefined && type !== undefined && !plainTypes.has(type)) forms[place] = type;
  }
  return { forms, single, ...(pageForm === undefined ? {} : { pageForm }) };
}
