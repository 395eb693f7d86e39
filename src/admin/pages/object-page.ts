import type { UserName } from '../../identity';
import type {
  BadgeModel,
  FieldModel,
  LabelledFigure,
  Link,
  PagerModel,
  TableModel,
  TabsModel,
  Translate,
} from '../../views';
import { choicesOf } from './choices';

/** One available change: a line that opens to its form, or the reason why the reader may not make it. */
export interface ActModel {
  readonly id: string;
  readonly label: string;
  /** The present value. */
  readonly value?: string;
  readonly badge?: BadgeModel;
  readonly action: string;
  /** A form that only selects what is shown has it; other forms change something. */
  readonly method?: 'get';
  readonly fields: readonly FieldModel[];
  readonly hidden: readonly { readonly name: string; readonly value: string }[];
  readonly submit: string;
  readonly danger?: boolean;
  readonly note?: string;
  readonly open?: boolean;
  /** The reason why the change is refused; the form is then left out. */
  readonly refusal?: string;
}

export interface SectionModel {
  readonly id: string;
  /** It is left out where the only act of the section says the same. */
  readonly heading?: string;
  /** The period of its figures. */
  readonly scope?: string;
  readonly facts?: readonly LabelledFigure[];
  readonly table?: TableModel;
  readonly acts?: readonly ActModel[];
}

/** The model of `views/pages/admin/object.hbs`: one object with its facts and the available changes. */
export interface ObjectPageModel {
  readonly page: {
    readonly heading: string;
    readonly scope: string;
    readonly crumb?: Link;
    readonly actions?: readonly Link[];
    readonly tabs?: TabsModel;
    readonly sections: readonly SectionModel[];
  };
  readonly pager?: PagerModel;
}

export type ActInput = Omit<ActModel, 'hidden' | 'submit' | 'fields'> & {
  readonly fields?: readonly FieldModel[];
  readonly version?: number;
  readonly submit?: string;
  readonly withoutReason?: boolean;
  readonly hidden?: ActModel['hidden'];
};

/** Adds the version that is shown, and the field for the reason. */
export function actOf({ version, withoutReason, ...act }: ActInput, translate: Translate): ActModel {
  const reason: FieldModel = {
    id: `${act.id}-reason`,
    name: 'reason',
    label: translate('administration.reason'),
    optional: true,
    autocomplete: 'off',
  };
  return {
    ...act,
    fields: [...(act.fields ?? []), ...(withoutReason === true ? [] : [reason])],
    hidden: [
      ...(act.hidden ?? []),
      ...(version === undefined ? [] : [{ name: 'version', value: String(version) }]),
    ],
    submit: act.submit ?? translate('administration.save'),
  };
}

/** A select whose options are names by number. */
/** A person by mail address, with some to choose from: an organisation may have any number. */
export const personField = (
  field: Pick<FieldModel, 'id' | 'name' | 'label' | 'help' | 'required' | 'optional' | 'placeholder'>,
  people: readonly UserName[],
  chosen: string | null,
): FieldModel => ({
  ...field,
  type: 'email',
  autocomplete: 'off',
  ...(chosen === null ? {} : { value: chosen }),
  suggestions: people.map(({ email, name }) => ({ value: email, label: name })),
});

export const pickerOf = (
  field: Pick<FieldModel, 'id' | 'name' | 'label' | 'help'>,
  names: readonly { readonly id: number; readonly name: string }[],
  chosen: number | null,
  none: string | null,
): FieldModel => ({
  ...field,
  type: 'select',
  options: [
    ...(none === null ? [] : [{ value: '', label: none, selected: chosen === null }]),
    ...names.map(({ id, name }) => ({ value: String(id), label: name, selected: id === chosen })),
  ],
});

/** The field of an act that cannot be undone: the name of its object, typed. */
export const confirmationField = (phrase: string, translate: Translate): FieldModel => ({
  id: 'confirmation',
  name: 'confirmation',
  label: translate('confirm.type', { phrase }),
  required: true,
  autocomplete: 'off',
});

export const flagField = (name: string, label: string, value: boolean, translate: Translate): FieldModel => ({
  id: name,
  name,
  type: 'select',
  label,
  options: choicesOf(['true', 'false'], String(value), (choice) =>
    translate(choice === 'true' ? 'administration.yes' : 'administration.no'),
  ),
});
