{{/* Parts of pods: environment, volumes, security. They get a dict with `root`, `component`, `stores` (list) and `triton` (URL). */}}

{{/* Settings of the application. A component gets addresses and secrets only of the stores that it uses. */}}
{{- define "riffle.env" -}}
{{- $v := .root.Values -}}
- name: RIFFLE_PROFILE
  value: production
- name: RIFFLE_CRAWL__CONTACT_URL
  value: {{ required "crawl.contactUrl is empty: a crawler must name its operator and a contact" $v.crawl.contactUrl | quote }}
{{- with $v.crawl.robotName }}
- name: RIFFLE_CRAWL__ROBOT_NAME
  value: {{ . | quote }}
{{- end }}
{{- with $v.crawl.userAgent }}
- name: RIFFLE_CRAWL__USER_AGENT
  value: {{ . | quote }}
{{- end }}
{{- with $v.crawl.allowedOrigins }}
- name: RIFFLE_CRAWL__ALLOWED_ORIGINS
  value: {{ toJson . | quote }}
{{- end }}
{{- with $v.crawl.allowedNetworks }}
- name: RIFFLE_CRAWL__ALLOWED_NETWORKS
  value: {{ toJson . | quote }}
{{- end }}
{{- with $v.crawl.regions }}
{{- $suffixes := dict }}
{{- range $region, $values := . }}
{{- $_ := set $suffixes $region ($values.suffixes | default list) }}
{{- end }}
- name: RIFFLE_CRAWL__REGIONS
  value: {{ toJson $suffixes | quote }}
{{- end }}
{{- if has "kafka" .stores }}
- name: RIFFLE_KAFKA__BOOTSTRAP
  value: {{ required "kafka.bootstrap is empty: set it to HOST:PORT of some brokers" $v.kafka.bootstrap | quote }}
- name: RIFFLE_KAFKA__PARTITIONS
  value: {{ int $v.kafka.partitions | quote }}
- name: RIFFLE_KAFKA__REPLICATION
  value: {{ int $v.kafka.replication | quote }}
{{- if $v.kafka.sasl.mechanism }}
{{- include "riffle.kafkaSasl" $v.kafka | nindent 0 }}
{{- else if $v.kafka.tls.enabled }}
- name: RIFFLE_KAFKA__SECURITY_PROTOCOL
  value: SSL
{{- end }}
{{- end }}
{{- if has "cassandra" .stores }}
- name: RIFFLE_CASSANDRA__HOSTS
  value: {{ required "cassandra.hosts is empty: name some nodes" $v.cassandra.hosts | toJson | quote }}
- name: RIFFLE_CASSANDRA__PORT
  value: {{ int $v.cassandra.port | quote }}
- name: RIFFLE_CASSANDRA__KEYSPACE
  value: {{ $v.cassandra.keyspace | quote }}
- name: RIFFLE_CASSANDRA__DATACENTER
  value: {{ $v.cassandra.datacenter | quote }}
- name: RIFFLE_CASSANDRA__REPLICATION
  value: {{ int $v.cassandra.replication | quote }}
{{- if $v.cassandra.existingSecret }}
- name: RIFFLE_CASSANDRA__USERNAME
  valueFrom: {secretKeyRef: {name: {{ $v.cassandra.existingSecret }}, key: {{ $v.cassandra.usernameKey }}}}
- name: RIFFLE_CASSANDRA__PASSWORD_FILE
  value: /etc/riffle/secrets/cassandra/secret
{{- end }}
{{- if $v.cassandra.tls.enabled }}
- name: RIFFLE_CASSANDRA__CHECK_HOSTNAME
  value: {{ $v.cassandra.tls.checkHostname | quote }}
{{- end }}
{{- end }}
{{- if has "qdrant" .stores }}
- name: RIFFLE_QDRANT__URL
  value: {{ required "qdrant.url is empty: set it to the REST address of your Qdrant" $v.qdrant.url | quote }}
- name: RIFFLE_QDRANT__SHARDS
  value: {{ int $v.qdrant.shards | quote }}
- name: RIFFLE_QDRANT__REPLICATION
  value: {{ int $v.qdrant.replication | quote }}
{{- if $v.qdrant.existingSecret }}
- name: RIFFLE_QDRANT__API_KEY_FILE
  value: /etc/riffle/secrets/qdrant/secret
{{- end }}
{{- end }}
{{- if has "triton" .stores }}
- name: RIFFLE_TRITON__URL
  value: {{ .triton | quote }}
- name: RIFFLE_TRITON__MODEL
  value: {{ $v.triton.model | quote }}
- name: RIFFLE_TRITON__QUERY_MODEL
  value: {{ $v.triton.queryModel | quote }}
{{- if and (include "riffle.embeddingServer" .root) $v.triton.existingSecret }}
- name: RIFFLE_TRITON__KEY_FILE
  value: /etc/riffle/secrets/triton/secret
{{- end }}
{{- end }}
{{- if and (has "answers" .stores) $v.answers.url }}
- name: RIFFLE_ANSWERS__URL
  value: {{ $v.answers.url | quote }}
- name: RIFFLE_ANSWERS__MODEL
  value: {{ $v.answers.model | quote }}
{{- if $v.answers.existingSecret }}
- name: RIFFLE_ANSWERS__KEY_FILE
  value: /etc/riffle/secrets/answers/secret
{{- end }}
{{- end }}
{{- range $store := include "riffle.tlsStores" . | fromJsonArray }}
{{- $tls := (index $v $store).tls }}
- name: RIFFLE_{{ upper $store }}__CA_FILE
  value: /etc/riffle/tls/{{ $store }}/ca.crt
{{- if $tls.clientSecret }}
- name: RIFFLE_{{ upper $store }}__CERT_FILE
  value: /etc/riffle/tls/{{ $store }}/tls.crt
- name: RIFFLE_{{ upper $store }}__KEY_FILE
  value: /etc/riffle/tls/{{ $store }}/tls.key
{{- end }}
{{- end }}
{{- with $v.runtime.otlpEndpoint }}
- name: RIFFLE_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
- name: RIFFLE_ACCESS__FETCH_NOW
  value: {{ $v.access.fetchNow }}
{{- with $v.crawl.proxy }}
- name: RIFFLE_CRAWL__PROXY
  value: {{ . | quote }}
{{- end }}
{{- $owned := .root.Files.Get "files/addresses.yaml" | fromYaml }}
{{- range $name, $value := $v.settings }}
{{- with index $owned $name }}
{{- fail (printf "settings.%s: set %s instead, from which the network policies follow" $name .) }}
{{- end }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{/* Settings of Kafka with SASL. It gets the values of Kafka. */}}
{{- define "riffle.kafkaSasl" -}}
{{- if not .tls.enabled }}{{ fail "kafka.sasl sends passwords: set kafka.tls.enabled" }}{{ end }}
{{- $secret := .sasl.existingSecret }}
{{- if eq .sasl.mechanism "AWS_MSK_IAM" }}{{ $_ := include "riffle.awsRegion" .bootstrap }}
{{- else if not $secret }}{{ fail "kafka.sasl.existingSecret is empty: name the secret with the user name and the password" }}{{ end }}
- name: RIFFLE_KAFKA__SECURITY_PROTOCOL
  value: SASL_SSL
- name: RIFFLE_KAFKA__SASL_MECHANISM
  value: {{ .sasl.mechanism }}
{{- if $secret }}
- name: RIFFLE_KAFKA__SASL_USERNAME
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: {{ .sasl.usernameKey }}}}
- name: RIFFLE_KAFKA__SASL_PASSWORD_FILE
  value: /etc/riffle/secrets/kafka/secret
{{- end }}
{{- if eq .sasl.mechanism "OAUTHBEARER" }}
- name: RIFFLE_KAFKA__SASL_TOKEN_URL
  value: {{ required "kafka.sasl.tokenUrl is empty: OAUTHBEARER needs a token server" .sasl.tokenUrl | quote }}
- name: RIFFLE_KAFKA__SASL_SCOPE
  value: {{ .sasl.scope | quote }}
{{- end }}
{{- end -}}

{{/* Settings of the commands that ask the gateway. */}}
{{- define "riffle.gatewayClient" -}}
- name: RIFFLE_GATEWAY__HOST
  value: {{ include "riffle.name" (dict "root" . "component" "gateway") }}
- name: RIFFLE_GATEWAY__PORT
  value: {{ int .Values.gateway.service.port | quote }}
{{- if and .Values.gateway.tls.secret .Values.kafka.tls.clientSecret }}
# The authority of the gateway's certificate is that of all others. It makes the address https.
- name: RIFFLE_GATEWAY__CA_FILE
  value: /etc/riffle/tls/kafka/ca.crt
{{- end }}
{{- end -}}

{{/* The names of the gateway as JSON: the published ones, and those of its services. Empty: any name is answered. */}}
{{- define "riffle.gatewayHosts" -}}
{{- $values := .Values.gateway }}
{{- $names := $values.allowedHosts }}
{{- if not $names }}
{{- with $values.publicUrl }}
{{- $names = append $names (urlParse .).hostname }}
{{- end }}
{{- if $values.ingress.enabled }}
{{- $names = concat $names $values.ingress.hosts }}
{{- end }}
{{- if $values.httpRoute.enabled }}
{{- $names = concat $names $values.httpRoute.hostnames }}
{{- end }}
{{- end }}
{{- if $names }}
{{- $service := include "riffle.name" (dict "root" . "component" "gateway") }}
{{- $namespace := .Release.Namespace }}
{{- range $name := list $service (printf "%s-admin" $service) }}
{{- $names = append $names $name }}
{{- range $domain := list "" ".svc" ".svc.cluster.local" }}
{{- $names = append $names (printf "%s.%s%s" $name $namespace $domain) }}
{{- end }}
{{- end }}
{{- toJson (uniq $names) }}
{{- end }}
{{- end -}}

{{/* Mounts and volumes: a folder for temporary files, and the certificates of each store. */}}
{{- define "riffle.volumeMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- with concat .root.Values.extraVolumeMounts ((.values | default dict).extraVolumeMounts | default list) }}
{{ toYaml . }}
{{- end }}
{{- range $store := include "riffle.tlsStores" . | fromJsonArray }}
- {name: tls-{{ $store }}, mountPath: /etc/riffle/tls/{{ $store }}, readOnly: true}
{{- end }}
{{- range $store := keys (include "riffle.passwords" . | fromJson) | sortAlpha }}
- {name: secret-{{ $store }}, mountPath: /etc/riffle/secrets/{{ $store }}, readOnly: true}
{{- end }}
{{- end -}}

{{- define "riffle.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
{{- with concat .root.Values.extraVolumes ((.values | default dict).extraVolumes | default list) }}
{{ toYaml . }}
{{- end }}
{{- range $store := include "riffle.tlsStores" . | fromJsonArray }}
{{- $tls := (index $.root.Values $store).tls }}
- name: tls-{{ $store }}
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ required (printf "%s.tls.caSecret is empty" $store) $tls.caSecret }}
          items: [{key: {{ $tls.caKey }}, path: ca.crt}]
      {{- with $tls.clientSecret }}
      - secret:
          name: {{ replace "{component}" ($.identity | default $.component) . }}
          items: [{key: {{ $tls.certKey }}, path: tls.crt}, {key: {{ $tls.keyKey }}, path: tls.key}]
      {{- end }}
{{- end }}
{{- range $store, $place := include "riffle.passwords" . | fromJson }}
- name: secret-{{ $store }}
  secret:
    secretName: {{ $place.secret }}
    defaultMode: 0440
    items: [{key: {{ $place.key }}, path: secret}]
{{- end }}
{{- end -}}

{{/*
The secrets and keys with the passwords of a component's stores, as JSON by store. They are mounted as files, which the
kubelet replaces after a rotation and Riffle reads at each sign-in: environment variables stay as they are until a restart.
*/}}
{{- define "riffle.passwords" -}}
{{- $v := .root.Values -}}
{{- $found := dict -}}
{{- if and (has "kafka" .stores) $v.kafka.sasl.mechanism $v.kafka.sasl.existingSecret -}}
{{- $_ := set $found "kafka" (dict "secret" $v.kafka.sasl.existingSecret "key" $v.kafka.sasl.passwordKey) -}}
{{- end -}}
{{- if and (has "cassandra" .stores) $v.cassandra.existingSecret -}}
{{- $_ := set $found "cassandra" (dict "secret" $v.cassandra.existingSecret "key" $v.cassandra.passwordKey) -}}
{{- end -}}
{{- if and (has "triton" .stores) (include "riffle.embeddingServer" .root) $v.triton.existingSecret -}}
{{- $_ := set $found "triton" (dict "secret" $v.triton.existingSecret "key" $v.triton.apiKeyKey) -}}
{{- end -}}
{{- if and (has "answers" .stores) $v.answers.url $v.answers.existingSecret -}}
{{- $_ := set $found "answers" (dict "secret" $v.answers.existingSecret "key" $v.answers.keyKey) -}}
{{- end -}}
{{- if and (has "qdrant" .stores) $v.qdrant.existingSecret -}}
{{- $_ := set $found "qdrant" (dict "secret" $v.qdrant.existingSecret "key" $v.qdrant.apiKeyKey) -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The security context of every container. It gets the chart's context. */}}
{{- define "riffle.containerSecurity" -}}
{{- toYaml .Values.containerSecurityContext -}}
{{- end -}}

{{/* Containers beside Riffle's own, in each pod. It gets the chart's context. */}}
{{- define "riffle.extraContainers" -}}
{{- with .Values.extraContainers }}
{{- toYaml . }}
{{- end }}
{{- end -}}

{{/* Annotations of each pod: a change of `rollout` restarts all pods. */}}
{{- define "riffle.rollout" -}}
{{- with .Values.rollout }}
riffle/rollout: {{ . | quote }}
{{- end }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What the values of a component say of its place: nodes, spread, priority, and the registry's credentials. */}}
{{- define "riffle.placement" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with merge (deepCopy (.values.nodeSelector | default dict)) .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat (.values.tolerations | default list) .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.topologySpread }}
topologySpreadConstraints:
  {{- range . }}
  - topologyKey: {{ .topologyKey }}
    maxSkew: {{ int .maxSkew }}
    whenUnsatisfiable: {{ .whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "riffle.selectorLabels" (dict "root" $.root "component" $.component) | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* What `serviceAccount.components` says of a component, as JSON. */}}
{{- define "riffle.accountValues" -}}
{{- index .root.Values.serviceAccount.components .component | default dict | toJson -}}
{{- end -}}

{{/* The name of an account that somebody else makes; empty: the chart makes one. */}}
{{- define "riffle.existingAccount" -}}
{{- (include "riffle.accountValues" . | fromJson).existing | default .root.Values.serviceAccount.existing -}}
{{- end -}}

{{- define "riffle.accountName" -}}
{{- include "riffle.existingAccount" . | default (include "riffle.name" .) -}}
{{- end -}}

{{- define "riffle.accountAnnotations" -}}
{{- $own := (include "riffle.accountValues" . | fromJson).annotations | default dict -}}
{{- with merge (deepCopy $own) .root.Values.serviceAccount.annotations -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{/* A service account without rights and without a token. */}}
{{- define "riffle.serviceAccount" -}}
{{- if not (include "riffle.existingAccount" .) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "riffle.metadata" (merge (dict "annotations" (include "riffle.accountAnnotations" . | fromYaml)) .) | nindent 2 }}
automountServiceAccountToken: false
{{- end -}}
{{- end -}}

{{- define "riffle.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "riffle.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  # A worker that waits for a store is not ready. It must not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "riffle.selectorLabels" . | nindent 6 }}
{{- end -}}

{{/* Scale by CPU time. */}}
{{- define "riffle.cpuAutoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "riffle.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ include "riffle.name" . }}}
  minReplicas: {{ int .values.autoscaling.minReplicas }}
  maxReplicas: {{ int .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: {{ int .values.autoscaling.targetCPUUtilizationPercentage }}}
{{- end -}}

{{/* The stores of a component that are reached by TLS, as a JSON list. */}}
{{- define "riffle.tlsStores" -}}
{{- $found := list -}}
{{- range $store := .stores -}}
{{- $values := index $.root.Values $store -}}
{{- /* With SASL, the brokers of a managed Kafka have certificates of a public authority. */ -}}
{{- $public := and (eq $store "kafka") $.root.Values.kafka.sasl.mechanism (not (dig "tls" "caSecret" "" $values)) -}}
{{- if and (dig "tls" "enabled" false $values) (not $public) -}}
{{- $found = append $found $store -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}
