import { Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { Schema } from '../../kernel';
import type { FieldAttributes } from '../../views';
import { registeredRoutes, type RegisteredRoute } from '../openapi/registered-routes';
import { schemaOfForm } from '../openapi/schema-of-form';

type Declared = ReadonlyMap<string, FieldAttributes>;

interface Declaration {
  readonly segments: readonly string[];
  readonly fields: Declared;
}

/** The forms of pages take the fields that their routes declare, by the address that they are sent to. */
@Injectable()
export class FormDeclarations {
  private made: ReadonlyMap<number, readonly Declaration[]> | undefined;

  constructor(private readonly modules: ModulesContainer) {}

  /** It is null for an address that declares no fields. */
  readonly at = (action: string): Declared | null => {
    // Routes do not change while the service runs.
    this.made ??= declarationsOf(registeredRoutes(this.modules));
    const segments = segmentsOf(action.split(/[?#]/)[0] ?? '');
    const fitting = this.made.get(segments.length) ?? [];
    const found = fitting.find((declaration) =>
      declaration.segments.every((segment, place) => segment === ANY || segment === segments[place]),
    );
    return found?.fields ?? null;
  };
}

/** A parameter of a path. */
const ANY = '*';

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');

function declarationsOf(routes: readonly RegisteredRoute[]): ReadonlyMap<number, readonly Declaration[]> {
  const declarations = routes.flatMap(({ method, path, forms, pageForm }): Declaration[] => {
    const form = pageForm ?? forms.body;
    if (method !== 'POST' || form === undefined) return [];
    const segments = segmentsOf(path).map((segment) => (segment.startsWith('{') ? ANY : segment));
    return [{ segments, fields: attributesOf(schemaOfForm(form)) }];
  });
  const firstExact = declarations.toSorted((one, other) => parametersIn(one) - parametersIn(other));
  return Map.groupBy(firstExact, ({ segments }) => segments.length);
}

const parametersIn = ({ segments }: Declaration): number =>
  segments.filter((segment) => segment === ANY).length;

function attributesOf({ properties = {}, required = [] }: Schema): Declared {
  return new Map(
    Object.entries(properties).map(([name, schema]) => [
      name,
      { ...(required.includes(name) ? { required: true } : {}), ...boundsOf(schema) },
    ]),
  );
}

function boundsOf({ type, minimum, maximum, minLength, maxLength, pattern }: Schema): FieldAttributes {
  const types = [type].flat().filter((one) => one !== undefined && one !== 'null');
  const [only = ''] = types.length === 1 ? types : [];
  if (only === 'integer' || only === 'number')
    return {
      type: 'number',
      ...(only === 'number' ? { step: 'any' } : {}),
      ...(minimum === undefined ? {} : { min: String(minimum) }),
      ...(maximum === undefined ? {} : { max: String(maximum) }),
    };
  if (!types.includes('string')) return {};
  return {
    // One character is what "required" says already.
    ...(minLength === undefined || minLength < 2 ? {} : { minlength: String(minLength) }),
    ...(maxLength === undefined ? {} : { maxlength: String(maxLength) }),
    ...forBrowsers(pattern),
  };
}

/** A browser reads patterns with the flag v, which wants more signs of a class escaped, and anchors them by itself. */
function forBrowsers(pattern: string | undefined): { readonly pattern?: string } {
  const shown = pattern?.replaceAll(
    /\[(\^?)((?:\\.|[^\]\\])+)\]/g,
    (_, not: string, inside: string) => `[${not}${inside.replaceAll(SIGNS, withEscape)}]`,
  );
  if (shown === undefined || !/^\^.*\$$/.test(shown)) return {};
  try {
    return { pattern: new RegExp(shown, 'v').source };
  } catch {
    return {};
  }
}

/** An escaped sign stays, a property with its braces, too. */
const SIGNS = /(\\[pP]\{[^}]*\}|\\.)|([(){}/|]|-$)/g;
const withEscape = (_: string, escaped: string | undefined, sign: string): string => escaped ?? `\\${sign}`;
