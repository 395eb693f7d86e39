import type { Definition, Properties, ValuesOf } from '../../kernel';
import type { Translate } from '../translations';

export interface FieldControl {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly label: string;
  readonly value: string;
  readonly checked: boolean;
  /** Submits an explicit value when unchecked. */
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
 * Builds the controls of an object's page, in the order of its definition. Texts: `<object>.<field>.label`, `.help`,
 * `.<choice>` and `.none`, interpolated with `textValues`.
 */
export function controlsOf<Shape extends Properties>(
  definition: Definition<Shape>,
  values: ValuesOf<Shape>,
  translate: Translate,
  textValues: Readonly<Record<string, unknown>> = {},
): FieldControl[] {
  return definition.on('page').map(({ name, key, property }) => {
    const value = (values as Readonly<Record<string, unknown>>)[key];
    const { type, inputMode, choices } = property.control;
    const text = (part: string): string => translate(`${definition.name}.${name}.${part}`, textValues);
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

export const textKeysOf = (definition: Definition<Properties>): string[] =>
  definition.on('page').flatMap(({ name, property }) => {
    const { choices = [] } = property.control;
    const none = property.isNullable && choices.length > 0 ? ['none'] : [];
    const parts = ['label', ...(property.isExplained ? ['help'] : []), ...none, ...choices];
    return parts.map((part) => `${definition.name}.${name}.${part}`);
  });
