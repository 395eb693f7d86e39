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

/** One change that may be made: a line that opens to its form, or says why it is not for the reader. */
export interface ActModel {
  readonly id: string;
  readonly label: string;
  /** What holds now. */
  readonly value?: string;
  readonly badge?: BadgeModel;
  readonly action: string;
  /** Of a form that only chooses what is shown; others change something. */
  readonly method?: 'get';
  readonly fields: readonly FieldModel[];
  readonly hidden: readonly { readonly name: string; readonly value: string }[];
  readonly submit: string;
  readonly danger?: boolean;
  readonly note?: string;
  readonly open?: boolean;
  /** Why it cannot be done; the form is then not there. */
  readonly refusal?: string;
}

export interface SectionModel {
  readonly id: string;
  readonly heading: string;
  readonly facts?: readonly LabelledFigure[];
  readonly table?: TableModel;
  readonly acts?: readonly ActModel[];
}

/** What `views/pages/admin/object.hbs` shows: one thing with its facts, and what may be done with it. */
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

/** With the version of what is shown, and the field for the reason. */
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
