import type { Definition, Properties, ValuesOf } from '../../kernel';
import type { Translate } from '../translations';

/** The partial `field` prints this. */
export interface FieldControl {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly label: string;
  readonly value: string;
  readonly checked: boolean;
  /** A box that is not checked says so. */
  readonly mayBeOff: boolean;
  readonly required: boolean;
  readonly optional: boolean;
  readonly inputMode?: 'numeric' | undefined;
  readonly help?: string | undefined;
  readonly options?: readonly {
    readonly value: string;
    readonly label: string;
    readonly selected: boolean;
  }[];
}

/**
 * The controls of a thing's page, in the order of its definition. Texts: `<thing>.<field>.label`, `.help`, `.<choice>`
 * and `.none`, which may speak of these words.
 */
export function controlsOf<Given extends Properties>(
  definition: Definition<Given>,
  values: ValuesOf<Given>,
  translate: Translate,
  words: Readonly<Record<string, unknown>> = {},
): FieldControl[] {
  return definition.on('page').map(({ name, key, property }) => {
    const value = (values as Readonly<Record<string, unknown>>)[key];
    const { type, inputMode, choices } = property.control;
    const text = (part: string): string => translate(`${definition.name}.${name}.${part}`, words);
    const typed = property.typed(value);
    return {
      id: name.replaceAll('_', '-'),
      name,
      type,
      label: text('label'),
      value: type === 'checkbox' ? 'on' : typed,
      checked: value === true,
      mayBeOff: type === 'checkbox',
      required: property.isRequired,
      optional: property.isNullable && choices === undefined,
      inputMode,
      help: property.isExplained ? text('help') : undefined,
      ...(choices === undefined
        ? {}
        : {
            options: (property.isNullable ? ['', ...choices] : choices).map((choice) => ({
              value: choice,
              label: text(choice || 'none'),
              selected: choice === typed,
            })),
          }),
    };
  });
}

/** The texts that the controls of a definition need. */
export const textKeysOf = (definition: Definition<Properties>): string[] =>
  definition.on('page').flatMap(({ name, property }) => {
    const { choices = [] } = property.control;
    const none = property.isNullable && choices.length > 0 ? ['none'] : [];
    const parts = ['label', ...(property.isExplained ? ['help'] : []), ...none, ...choices];
    return parts.map((part) => `${definition.name}.${name}.${part}`);
  });
