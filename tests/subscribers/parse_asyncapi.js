// Reads an AsyncAPI document with the official parser. Prints its channels and operations, and each error.
const { readFileSync } = require("fs");
const { Parser } = require(`${process.argv[2]}/node_modules/@asyncapi/parser`);

new Parser().parse(readFileSync(process.argv[3], "utf8")).then(({ document, diagnostics }) => {
  const errors = diagnostics.filter((each) => each.severity === 0).map((each) => `${each.path.join("/")}: ${each.message}`);
  const count = (name) => (document ? document[name]().all().length : 0);
  console.log(JSON.stringify({ errors, channels: count("channels"), operations: count("operations"), servers: count("servers") }));
});
