import { Injectable } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { JsonSchema } from '../../kernel';
import type { FieldAttributes } from '../../views';
import { registeredRoutes, type RegisteredRoute } from '../openapi/registered-routes';
import { schemaOfForm } from '../openapi/schema-of-form';

type FieldAttributesByName = ReadonlyMap<string, FieldAttributes>;

interface Declaration {
  readonly segments: readonly string[];
  readonly fields: FieldAttributesByName;
}

@Injectable()
export class FormDeclarations {
  private declarations: ReadonlyMap<number, readonly Declaration[]> | undefined;

  constructor(private readonly modules: ModulesContainer) {}

  /** Null for an address that declares no fields. */
  readonly at = (action: string): FieldAttributesByName | null => {
    this.declarations ??= declarationsOf(registeredRoutes(this.modules));
    const segments = segmentsOf(action.split(/[?#]/)[0] ?? '');
    const candidates = this.declarations.get(segments.length) ?? [];
    const match = candidates.find((declaration) =>
      declaration.segments.every((segment, index) => segment === ANY || segment === segments[index]),
    );
    return match?.fields ?? null;
  };
}

const ANY = '*';

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');

function declarationsOf(routes: readonly RegisteredRoute[]): ReadonlyMap<number, readonly Declaration[]> {
  const declarations = routes.flatMap(({ method, path, forms, pageForm }): Declaration[] => {
    const form = pageForm ?? forms.body;
    if (method !== 'POST' || form === undefined) return [];
    const segments = segmentsOf(path).map((segment) => (segment.startsWith('{') ? ANY : segment));
    return [{ segments, fields: attributesOf(schemaOfForm(form)) }];
  });
  const mostSpecificFirst = declarations.toSorted(
    (one, other) => countParameters(one) - countParameters(other),
  );
  return Map.groupBy(mostSpecificFirst, ({ segments }) => segments.length);
}

const countParameters = ({ segments }: Declaration): number =>
  segments.filter((segment) => segment === ANY).length;

function attributesOf({ properties = {}, required = [] }: JsonSchema): FieldAttributesByName {
  return new Map(
    Object.entries(properties).map(([name, schema]) => [
      name,
      { ...(required.includes(name) ? { required: true } : {}), ...boundsOf(schema) },
    ]),
  );
}

function boundsOf({ type, minimum, maximum, minLength, maxLength, pattern }: JsonSchema): FieldAttributes {
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
    // `required` already implies one character.
    ...(minLength === undefined || minLength < 2 ? {} : { minlength: String(minLength) }),
    ...(maxLength === undefined ? {} : { maxlength: String(maxLength) }),
    ...browserPattern(pattern),
  };
}

/** Browsers compile patterns with the v flag, which requires more escapes in classes, and anchor them. */
function browserPattern(pattern: string | undefined): { readonly pattern?: string } {
  const escapedPattern = pattern?.replaceAll(
    /\[(\^?)((?:\\.|[^\]\\])+)\]/g,
    (_, not: string, inside: string) => `[${not}${inside.replaceAll(SIGNS, withEscape)}]`,
  );
  if (escapedPattern === undefined || !/^\^.*\$$/.test(escapedPattern)) return {};
  try {
    return { pattern: new RegExp(escapedPattern, 'v').source };
  } catch {
    return {};
  }
}

/** Matches escapes and properties, which stay as they are, or one unescaped sign. */
const SIGNS = /(\\[pP]\{[^}]*\}|\\.)|([(){}/|]|-$)/g;
const withEscape = (_: string, escaped: string | undefined, sign: string): string => escaped ?? `\\${sign}`;
