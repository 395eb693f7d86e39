import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { type ErrorCode, isErrorCode, reachableCodes } from '../../../src/kernel';

const source = join(__dirname, '../../../src');

/**
 * A code can be reached that stands in the first argument of `fault(…)`, or in a constant of the file that it
 * names. So can one that something called `code` is given.
 */
function raisedCodes(): Set<ErrorCode> {
  const raised = new Set<ErrorCode>();
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const path = join(entry.parentPath, entry.name);
    const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
    const constants = new Map(
      file.statements
        .filter(ts.isVariableStatement)
        .flatMap(({ declarationList }) => declarationList.declarations)
        .map(({ name, initializer }) => [name.getText(), initializer]),
    );
    const collect = (node: ts.Node): void => {
      if (ts.isStringLiteral(node) && isErrorCode(node.text)) raised.add(node.text);
      const named = ts.isIdentifier(node) ? constants.get(node.text) : undefined;
      if (named !== undefined) {
        constants.delete((node as ts.Identifier).text);
        collect(named);
      }
      node.forEachChild(collect);
    };
    const visit = (node: ts.Node): void => {
      const makesFault =
        (ts.isCallExpression(node) || ts.isNewExpression(node)) &&
        /^(fault|Fault)$/.test(node.expression.getText());
      if (makesFault && node.arguments?.[0] !== undefined) collect(node.arguments[0]);
      const namesCode =
        (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node)) && node.name.getText() === 'code';
      if (namesCode && node.initializer !== undefined) collect(node.initializer);
      node.forEachChild(visit);
    };
    if (!path.includes('errors/data')) visit(file);
  }
  return raised;
}

test('the catalogue says of exactly those codes that they are reachable which the source raises', () => {
  expect([...reachableCodes].sort()).toEqual([...raisedCodes()].sort());
});
