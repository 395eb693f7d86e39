import { Check, Column } from 'typeorm';
import type { Definition, Properties, ValuesOf } from '../../kernel';

/**
 * Base of an entity whose columns are those of a definition. Constraints of the table are declared on the entity
 * itself.
 */
export function columnsOf<Given extends Properties>(
  definition: Definition<Given>,
): abstract new () => ValuesOf<Given> {
  abstract class Columns {}
  for (const { name, key, property } of definition.all)
    Column({ name, ...property.column })(Columns.prototype, key);
  return Columns as abstract new () => ValuesOf<Given>;
}

/** Check constraints of a definition's columns, with names like `model_kind_known`. */
export const ChecksOf =
  (definition: Definition<Properties>): ClassDecorator =>
  (entity) => {
    for (const {
      name,
      property: { check },
    } of definition.all)
      if (check !== undefined) Check(`${definition.name}_${name}_${check.rule}`, check.sql(name))(entity);
  };
